package io.perdure;

import io.perdure.v1.CancelClaim;
import io.perdure.v1.ClaimResponse;
import io.perdure.v1.ErrorReason;
import io.perdure.v1.GoAway;
import io.perdure.v1.Hello;
import io.perdure.v1.LostClaim;
import io.perdure.v1.OfferedDefinitionStatus;
import io.perdure.v1.Renewed;
import io.perdure.v1.Settled;
import io.perdure.v1.Welcome;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * The worker's session: keeps one stream open and renewed, and hands what the server says to the ledger. It has a thread of its own, on
 * which nothing blocks, so that no handler and no large result ever costs a renewal.
 */
final class Session implements Connection.Listener, Ledger.Services {
    private static final Logger LOG = System.getLogger("io.perdure.worker");

    private final WorkerPlan plan;
    private final ConnectionConfig config;
    private final ActivityRunner runner;
    private final Loop loop = new Loop("perdure-session");
    private final Ledger ledger;
    private final LargeCalls large;
    /** The program's own code may block, throw, or close the worker: it never runs on the loop. In order, on one thread. */
    private final ExecutorService listener = new ThreadPoolExecutor(
            0, 1, Limits.IDLE_THREAD.toNanos(), TimeUnit.NANOSECONDS, new LinkedBlockingQueue<>(),
            task -> Loop.daemon(task, "perdure-listener"));
    private final CompletableFuture<Void> connected = new CompletableFuture<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private String sessionId = "";
    private String sessionSecret = "";
    private Duration lease = Duration.ZERO;
    private Future<?> leaseTimer;
    private Connection current;
    private Connection opening;
    private boolean connectPlanned;
    private Duration interval = Limits.RECONNECT_INITIAL_INTERVAL;
    private long openedAt;
    private long sayAgainAt = System.nanoTime();
    private boolean flushPlanned;
    private boolean finishing;
    private boolean goingAway;
    private boolean over;
    private volatile PerdureException lastError;

    Session(WorkerPlan plan, ConnectionConfig config, ActivityRunner runner) {
        this.plan = plan;
        this.config = config;
        this.runner = runner;
        this.ledger = new Ledger(plan, this, config.codec());
        this.large = new LargeCalls(config, loop, ledger);
        runner.use(loop, ledger);
    }

    // ---- from any thread

    /** Done at the first welcome, or with the error that makes it impossible. */
    CompletableFuture<Void> connected() {
        return connected;
    }

    /** Done when the session is over, or with the error that ended it. */
    CompletableFuture<Void> ended() {
        return ended;
    }

    Optional<PerdureException> lastError() {
        return Optional.ofNullable(lastError);
    }

    void start() {
        loop.post(this::connect);
    }

    /** No more claims. */
    void drain(Duration grace) {
        loop.post(() -> ledger.drain(grace));
    }

    /** Ends when the last result is answered, after so long at most. Renewals go on until then. */
    void finish(Duration within) {
        loop.post(() -> {
            finishing = true;
            later(within, this::sayGoodbye);
            wake();
        });
    }

    // ---- what the ledger asks for

    @Override
    public void wake() {
        if (!flushPlanned) {
            flushPlanned = true;
            loop.post(this::flush); // behind what waits already, so that one message carries many
        }
    }

    @Override
    public void later(Duration delay, Runnable call) {
        loop.later(delay, call);
    }

    @Override
    public void sendLargeResult(Held held) {
        large.result(held);
    }

    @Override
    public void sendLargeCheckpoint(Held held, Held.Save save) {
        large.checkpoint(held, save);
    }

    @Override
    public void begin(Held held) {
        runner.begin(held);
    }

    @Override
    public void cancel(Held held, String reason) {
        runner.cancel(held, reason);
    }

    @Override
    public void lose(Held held, String cause) {
        runner.lose(held, cause);
    }

    @Override
    public void notServed(NotServed what) {
        try {
            listener.execute(() -> tell(what));
        } catch (RejectedExecutionException ended) {
            // nobody is to be told of a worker that has stopped
        }
    }

    private void tell(NotServed what) {
        try {
            plan.whenNotServed().accept(what);
        } catch (RuntimeException | Error error) {
            LOG.log(Level.ERROR, "the listener that was given to whenNotServed threw", error);
        }
    }

    private void flush() {
        flushPlanned = false;
        if (finishing && ledger.isEmpty()) {
            sayGoodbye();
        } else if (current != null) {
            current.flush();
        }
    }

    // ---- connecting

    private void connectLater(Duration delay) {
        if (!connectPlanned && opening == null && !over) {
            connectPlanned = true;
            // Jitter, so that the workers of a fleet do not come back in step.
            later(Calls.jittered(delay), this::connect);
        }
    }

    private void connect() {
        connectPlanned = false;
        if (over || opening != null) {
            return;
        }
        try {
            Hello.Builder hello = plan.hello().setSessionId(sessionId).setSessionSecret(sessionSecret);
            ledger.current().forEach(held -> hello.addHeldClaimTokens(held.token()));
            if (current != null) {
                current.makeStale();
            }
            opening = new Connection(config, loop, this, ledger.outgoing());
            opening.open(hello.build());
        } catch (RuntimeException | Error error) { // a file of TLS cannot be read now, or no thread and no memory is left
            opening = null;
            connectFailed(error instanceof PerdureException known ? known : Statuses.unavailable("no connection can be made: " + error));
        }
    }

    @Override
    public void welcomed(Connection connection, Welcome welcome) {
        if (over) {
            connection.close();
            return;
        }
        for (OfferedDefinitionStatus status : welcome.getDefinitionsList()) {
            Optional<PerdureException> error = Statuses.ofStatus(status.getStatus());
            if (error.isPresent() && error.get() instanceof InvalidRequestException && !connected.isDone()) {
                connection.close();
                fail(error.get());
                return;
            }
            error.ifPresent(found -> LOG.log(Level.WARNING, "the definition {0} was not registered: {1}",
                    plan.definitions().get(status.getDefinitionIndex()).getWorkflowType(), found.getMessage()));
        }
        begin(connection, welcome);
        connected.complete(null);
    }

    private void begin(Connection connection, Welcome welcome) {
        boolean resumed = welcome.getResumed() || sessionId.isEmpty();
        if (current != null) {
            current.close();
        }
        current = connection;
        opening = null;
        goingAway = false;
        openedAt = System.nanoTime();
        sayAgainAt = openedAt;
        sessionId = welcome.getSessionId();
        sessionSecret = welcome.getSessionSecret();
        lease = Times.of(welcome.getLeaseDuration());
        ledger.outgoing().beginStream();
        ledger.accept(welcome.getPoolsList());
        if (!resumed) {
            LOG.log(Level.WARNING, "the session was not resumed: what ran under the old one is given up");
            ledger.loseAll("EXPIRED");
        }
        welcome.getLostList().forEach(lost -> ledger.lose(lost.getClaimToken(), Ledger.causeName(lost.getCause())));
        welcome.getCancelClaimTokensList().forEach(token -> ledger.cancel(token, ""));
        extendLease(connection.helloSentAt());
        LOG.log(Level.INFO, "connected to {0} as session {1}, lease {2}", config.address(), sessionId, lease);
    }

    @Override
    public void closed(Connection connection, PerdureException error) {
        if (over) {
            if (connection == current) {
                end(null);
            }
            return;
        }
        if (connection == opening) {
            opening = null;
            connectFailed(error == null ? Statuses.unavailable("the server ended the stream without a welcome") : error);
        } else if (connection == current) {
            if (error != null) {
                LOG.log(Level.WARNING, "the stream to {0} ended: {1}", config.address(), error.getMessage());
            }
            streamEnded();
        }
    }

    private void streamEnded() {
        if (System.nanoTime() - openedAt > Limits.RECONNECT_MAX_INTERVAL.toNanos()) {
            interval = Limits.RECONNECT_INITIAL_INTERVAL;
        }
        connectLater(interval);
    }

    private void connectFailed(PerdureException error) {
        lastError = error;
        boolean isRefused = error instanceof AccessDeniedException || error instanceof InvalidRequestException;
        if (!connected.isDone() && (isRefused || !Handshakes.definite(error).isEmpty())) {
            fail(error); // no later try can help a worker that has never been let in
            return;
        }
        if (error.reason().equals(io.perdure.ErrorReason.SESSION_LOST)) {
            sessionIsLost();
        }
        if (System.nanoTime() - sayAgainAt >= 0) {
            sayAgainAt = System.nanoTime() + Limits.FAILURE_LOG_INTERVAL.toNanos();
            LOG.log(Level.WARNING, "cannot open a stream to {0}; trying on: {1}", config.address(), error.getMessage());
        }
        connectLater(interval);
        interval = Calls.min(Limits.RECONNECT_MAX_INTERVAL, interval.multipliedBy(2));
    }

    // ---- what the stream says

    @Override
    public void received(Connection connection, ClaimResponse message) {
        switch (message.getMessageCase()) {
            case CLAIMS -> {
                // The server has refused what came on a stream after a newer hello was said.
                if (!connection.isStale()) {
                    ledger.take(message.getClaims().getClaimsList(), connection.connectionNo());
                }
            }
            case SETTLED -> {
                for (Settled settled : message.getSettled().getSettledList()) {
                    ledger.settled(settled, connection.isStale(), connection.connectionNo());
                }
            }
            case RENEWED -> renewed(connection, message.getRenewed());
            case HEARTBEATS_ANSWERED -> message.getHeartbeatsAnswered().getAnswersList().forEach(ledger::heartbeatAnswered);
            case CANCEL -> {
                for (CancelClaim cancel : message.getCancel().getClaimsList()) {
                    ledger.cancel(cancel.getClaimToken(), cancel.getReason());
                }
            }
            case LOST -> {
                for (LostClaim lost : message.getLost().getClaimsList()) {
                    ledger.lose(lost.getClaimToken(), Ledger.causeName(lost.getCause()));
                }
            }
            case GO_AWAY -> goAway(connection, message.getGoAway());
            case POOLS_CHANGED -> ledger.accept(message.getPoolsChanged().getPoolsList());
            case REFUSED -> LOG.log(Level.ERROR, "the server refused message {0} of the stream: {1}",
                    message.getRefused().getMessageNo(), message.getRefused().getStatus().getMessage());
            default -> {
                // of a newer server: by the protocol, ignored
            }
        }
    }

    private void renewed(Connection connection, Renewed renewed) {
        Optional<Long> sentAt = connection.renewed(renewed.getRenewId());
        Optional<PerdureException> error = Statuses.ofStatus(renewed.getStatus());
        if (error.isEmpty()) {
            if (renewed.hasLeaseDuration()) {
                lease = Times.of(renewed.getLeaseDuration());
            }
            if (sentAt.isPresent() && connection == current) {
                extendLease(sentAt.get());
                ledger.renewed(renewed.getRenewId());
            }
        } else if (error.get().reason().equals(io.perdure.ErrorReason.SESSION_LOST)) {
            sessionIsLost();
            leave(connection);
        } else {
            LOG.log(Level.WARNING, "the lease was not renewed: {0}", error.get().getMessage());
            later(Calls.jittered(Calls.min(Duration.ofSeconds(1), connection.renewInterval())), () -> {
                ledger.outgoing().wantRenew();
                wake();
            });
        }
    }

    /** The own lease runs from the sending of the last renew that was answered. */
    private void extendLease(long since) {
        ledger.leaseGoesOn();
        if (leaseTimer != null) {
            leaseTimer.cancel(false);
        }
        Duration left = lease.minusNanos(System.nanoTime() - since);
        leaseTimer = loop.later(left, ledger::leaseIsOver);
    }

    private void goAway(Connection connection, GoAway message) {
        if (connection != current) {
            return;
        }
        String reason = Enums.name(message.getReason(), "ERROR_REASON_");
        LOG.log(Level.INFO, "the server asks to leave this stream ({0})", reason.isEmpty() ? "age" : reason);
        if (message.getReason() == ErrorReason.ERROR_REASON_SESSION_LOST) {
            sessionIsLost();
        }
        leave(connection);
    }

    /** Another stream is opened; this one goes on meanwhile, for results and renewals. */
    private void leave(Connection connection) {
        if (connection == current && !goingAway) {
            goingAway = true;
            streamEnded();
        }
    }

    private void sessionIsLost() {
        if (!sessionId.isEmpty()) {
            LOG.log(Level.WARNING, "the session is lost: its claims are given up, a new one is opened");
        }
        sessionId = "";
        sessionSecret = "";
        ledger.loseAll("EXPIRED");
    }

    // ---- the end

    private void sayGoodbye() {
        if (over) {
            return;
        }
        over = true;
        List<Held> left = ledger.current();
        if (!left.isEmpty()) {
            LOG.log(Level.ERROR, "stopped with {0} results unanswered ({1}); the server will hand their steps out again",
                    left.size(), left.stream().map(held -> held.claim.getStep()).collect(Collectors.joining(", ")));
        }
        if (current == null || !current.isUsable()) {
            end(null);
            return;
        }
        current.flush();
        current.finish();
        later(Limits.GOODBYE_TIMEOUT, () -> end(null));
    }

    private void fail(PerdureException error) {
        over = true;
        connected.completeExceptionally(error);
        end(error);
    }

    private void end(PerdureException error) {
        over = true;
        for (Connection connection : new Connection[] {current, opening}) {
            if (connection != null) {
                connection.close();
            }
        }
        large.close();
        listener.shutdown();
        ledger.failSaves(Statuses.unavailable("the worker has stopped"));
        connected.completeExceptionally(error == null ? Statuses.unavailable("the worker has stopped") : error);
        if (error == null) {
            ended.complete(null);
        } else {
            ended.completeExceptionally(error);
        }
        loop.close();
    }
}
