package io.perdure;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** From the wire's statuses to the typed errors: one table, by reason first, then by code. */
final class Statuses {
    private static final String DOMAIN = "perdure";
    /** What gRPC itself says of a message above its bound, which no later try makes smaller: else RESOURCE_EXHAUSTED passes. */
    private static final String TOO_LARGE = "message larger than max";

    /** What is said of a call that ended so, where this program has ended nothing. */
    private static final String CUT = "the call was cut by the server or on the way there";

    private static final Map<String, Function<ErrorFacts, PerdureException>> BY_REASON = Map.of(
            ErrorReason.PAYLOAD_TOO_LARGE, PayloadRejectedException::new,
            ErrorReason.PAYLOAD_INVALID, PayloadRejectedException::new,
            ErrorReason.DEFINITION_INVALID, DefinitionRejectedException::new,
            ErrorReason.DEFINITION_CYCLE, DefinitionRejectedException::new,
            ErrorReason.NOT_SUPPORTED_YET, DefinitionRejectedException::new,
            ErrorReason.CLAIM_LOST, ClaimLostException::new,
            ErrorReason.DEFINITION_NOT_FOUND, NotFoundException::new);

    private static final Map<String, Function<ErrorFacts, PerdureException>> BY_CODE = Map.ofEntries(
            Map.entry("INVALID_ARGUMENT", InvalidRequestException::new),
            Map.entry("OUT_OF_RANGE", InvalidRequestException::new),
            Map.entry("ALREADY_EXISTS", AlreadyExistsException::new),
            Map.entry("NOT_FOUND", NotFoundException::new),
            Map.entry("FAILED_PRECONDITION", NotAllowedException::new),
            Map.entry("ABORTED", ConflictException::new),
            Map.entry("RESOURCE_EXHAUSTED", OverloadedException::new),
            Map.entry("UNAVAILABLE", UnavailableException::new),
            Map.entry("DEADLINE_EXCEEDED", CallTimeoutException::new),
            Map.entry("CANCELLED", CallTimeoutException::new),
            Map.entry("UNAUTHENTICATED", AccessDeniedException::new),
            Map.entry("PERMISSION_DENIED", AccessDeniedException::new),
            Map.entry("UNIMPLEMENTED", NotImplementedException::new));

    private Statuses() {}

    static PerdureException ofCall(StatusRuntimeException failure) {
        String code = codeOf(failure.getStatus());
        String message = failure.getStatus().getDescription();
        com.google.rpc.Status status = StatusProto.fromThrowable(failure);
        List<Any> details = status == null ? List.of() : status.getDetailsList();
        PerdureException error = error(code, message == null ? code : message, details);
        error.initCause(failure);
        return error;
    }

    /**
     * The same for a unary call of this library's own, made in this context. A CANCELLED that nobody here asked for becomes
     * UNAVAILABLE: a server with too many new calls says so, and a proxy that gives up; it is no less passing than a broken connection.
     */
    static PerdureException ofUnary(StatusRuntimeException failure, Context context) {
        boolean isCut = failure.getStatus().getCode() == io.grpc.Status.Code.CANCELLED && !isOver(context);
        return isCut ? ofCut(failure) : ofCall(failure);
    }

    /** The same for a stream, which has no deadline of its own: a proxy on the way may have one. */
    static PerdureException ofStream(StatusRuntimeException failure, Context context) {
        boolean isCut = failure.getStatus().getCode() == io.grpc.Status.Code.DEADLINE_EXCEEDED && !isOver(context);
        return isCut ? ofCut(failure) : ofUnary(failure, context);
    }

    private static PerdureException ofCut(StatusRuntimeException failure) {
        io.grpc.Status status = failure.getStatus();
        String why = status.getDescription() == null ? status.getCode().name() : status.getDescription();
        io.grpc.Status told = io.grpc.Status.UNAVAILABLE.withDescription(CUT + ": " + why).withCause(status.getCause());
        return ofCall(told.asRuntimeException(failure.getTrailers()));
    }

    /** Whether the caller's own context is cancelled, or its deadline over. */
    private static boolean isOver(Context context) {
        Deadline deadline = context.getDeadline();
        return context.isCancelled() || (deadline != null && deadline.isExpired());
    }

    /** gRPC for Java says UNKNOWN where a connection ends while a call is being written to it. */
    private static String codeOf(io.grpc.Status status) {
        for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
            if (cause instanceof IOException && status.getCode() == io.grpc.Status.Code.UNKNOWN) {
                return io.grpc.Status.Code.UNAVAILABLE.name();
            }
        }
        return status.getCode().name();
    }

    /** Empty for OK. */
    static Optional<PerdureException> ofStatus(com.google.rpc.Status status) {
        if (status.getCode() == 0) {
            return Optional.empty();
        }
        String code = io.grpc.Status.fromCodeValue(status.getCode()).getCode().name();
        return Optional.of(error(code, status.getMessage(), status.getDetailsList()));
    }

    static ClaimLostException claimLost(String cause) {
        return new ClaimLostException(new ErrorFacts(
                "the claim is lost (" + cause + ")", ErrorReason.CLAIM_LOST, "", Map.of("cause", cause), List.of(), null));
    }

    static UnavailableException unavailable(String message) {
        return new UnavailableException(ErrorFacts.of(message, ""));
    }

    static CallTimeoutException interrupted(String what) {
        return new CallTimeoutException(ErrorFacts.of(what + " was interrupted", ErrorReason.CALL_CANCELLED));
    }

    private static PerdureException error(String code, String message, List<Any> details) {
        String reason = "";
        Map<String, String> facts = new HashMap<>();
        List<Violation> violations = new ArrayList<>();
        Duration retryAfter = null;
        try {
            for (Any detail : details) {
                if (detail.is(ErrorInfo.class)) {
                    ErrorInfo info = detail.unpack(ErrorInfo.class);
                    boolean ours = info.getDomain().equals(DOMAIN);
                    reason = ours ? info.getReason() : reason;
                    facts.putAll(ours ? info.getMetadataMap() : Map.of());
                } else if (detail.is(BadRequest.class)) {
                    detail.unpack(BadRequest.class).getFieldViolationsList()
                            .forEach(found -> violations.add(new Violation(found.getField(), found.getDescription())));
                } else if (detail.is(RetryInfo.class)) {
                    retryAfter = Times.of(detail.unpack(RetryInfo.class).getRetryDelay());
                }
            }
        } catch (InvalidProtocolBufferException damaged) {
            // A proxy's own bytes: the code and message still say enough.
            violations.clear();
        }
        if (reason.isEmpty() && code.equals("RESOURCE_EXHAUSTED") && message.contains(TOO_LARGE)) {
            reason = ErrorReason.PAYLOAD_TOO_LARGE;
        }
        ErrorFacts told = new ErrorFacts(message, reason, code, facts, violations, retryAfter);
        Function<ErrorFacts, PerdureException> byCode = BY_CODE.getOrDefault(code, ServerFaultException::new);
        return BY_REASON.getOrDefault(reason, byCode).apply(told);
    }
}
