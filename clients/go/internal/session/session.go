package session

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Runner runs activities. Its methods are called under the session's lock: they must not block, nor call the session.
type Runner interface {
	// Begin runs the claim's activity on a goroutine of its own.
	Begin(held *Held)
	// Cancel asks an activity to stop; its result counts.
	Cancel(held *Held, reason string)
	// Lose stops an activity whose result does not count any more.
	Lose(held *Held, cause string)
}

// Config is what a session needs.
type Config struct {
	// Hello is that of a new session, with its pools.
	Hello *perdurev1.Hello
	// Dial makes a connection for one stream.
	Dial func() (*grpc.ClientConn, error)
	// Describe adds the metadata of every call.
	Describe func(context.Context) context.Context
	// Calls takes what is too large for the stream.
	Calls perdurev1.WorkerServiceClient
	// Seal encodes what the session itself makes. Nil: nothing is encoded.
	Seal func(*perdurev1.Result)
	// Explain says in plain words what went wrong before any welcome.
	Explain func(error) error
	// Log is for people.
	Log *slog.Logger
}

// Session is one worker's session, over as many streams as it takes.
type Session struct {
	config Config
	runner Runner
	log    *journal
	// epoch is the zero of the session's clock, which is monotonic.
	epoch time.Time

	mutex         sync.Mutex
	pools         []*pool
	claims        map[string]*Held
	out           outgoing
	draining      bool
	acknowledging bool
	current       *connection
	id, secret    string
	lease         time.Duration
	leaseEnd      time.Time
	leaseTimer    *time.Timer
	timers        map[*time.Timer]bool
	finishing     bool
	sayAgainAt    time.Time
	lastError     error

	// connected is closed at the first welcome.
	connected chan struct{}
	// finished has ended when the session should end; goodbye is closed when the last stream should.
	finished context.Context
	finish   context.CancelFunc
	goodbye  chan struct{}
	// ended is closed when everything is over; err is then why, if nobody asked for it.
	ended chan struct{}
	err   error

	lifetime   context.Context
	end        context.CancelFunc
	background sync.WaitGroup
}

// New makes a session; Start starts it.
func New(config Config, runner Runner) *Session {
	made := &Session{
		config: config, runner: runner, log: newJournal(config.Log), epoch: time.Now(),
		claims: map[string]*Held{}, timers: map[*time.Timer]bool{},
		out:       outgoing{sentResults: map[int64]*Held{}, sentHeartbeats: map[int64]*sent{}, resting: map[*sent]bool{}},
		connected: make(chan struct{}), goodbye: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, found := range config.Hello.GetPools() {
		made.pools = append(made.pools, &pool{name: found.GetPool(), slots: int(found.GetSlots())})
	}
	// A lifetime of its own: a caller whose context has ended still wants its results to be settled.
	made.lifetime, made.end = context.WithCancel(context.Background())
	made.finished, made.finish = context.WithCancel(made.lifetime)
	return made
}

// Start opens streams until Finish, or until there is no use in it.
func (s *Session) Start() {
	go s.log.run()
	go s.main()
}

// Connected is closed at the first welcome.
func (s *Session) Connected() <-chan struct{} { return s.connected }

// Ended is closed when all goroutines of the session are over; Err is then final.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Err is why the session ended by itself; nil: it was asked to.
func (s *Session) Err() error { return s.err }

// LastError is the last failure to open a stream.
func (s *Session) LastError() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.lastError
}

// Drain takes no more claims; those that have not begun are given back. When it returns no further activity begins.
func (s *Session) Drain(grace time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.draining = true
	s.out.drainWanted, s.out.drainGrace = true, grace
	for _, held := range s.claims {
		if held.phase == heldBack && !held.isLost {
			s.settleUnbegun(held, Released())
		}
	}
	s.wake()
}

// Finish ends the session when the last result is answered, and after `within` at most. Renewals go on until then.
func (s *Session) Finish(within time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.finishing {
		s.finishing = true
		s.later(within, s.finish)
	}
	s.wake()
}

// ---- from the activities

// Finished takes the outcome of an activity that has ended. Nil: nothing is to be reported.
func (s *Session) Finished(held *Held, result *perdurev1.Result) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if held.phase == settling {
		return
	}
	held.phase = settling
	s.freeSlot(held)
	if held.isLost || result == nil {
		s.remove(held)
		s.wake()
		return
	}
	held.result = s.addressed(result, held)
	s.sendResult(held)
}

// Save stores a checkpoint; `reply` is called once.
func (s *Session) Save(held *Held, checkpoint *perdurev1.Payload, reply Reply) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if held.isLost || held.phase != running || s.isOver() {
		reply(LostError(causeUnknown))
		return
	}
	s.Alive(held)
	held.checkpointNo++
	made := save{checkpoint, held.checkpointNo, reply}
	if len(checkpoint.GetJson())+len(checkpoint.GetBinary()) > wire.StreamResultBytes {
		s.sendLargeCheckpoint(held, made)
		return
	}
	held.saves = append(held.saves, made)
	s.out.active.put(held)
	s.wake()
}

// Frame sends progress, without waiting.
func (s *Session) Frame(held *Held, kind perdurev1.Frame_Kind, payload *perdurev1.Payload) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.Alive(held)
	if held.isLost || held.phase != running || held.framesOpen >= wire.FrameBacklog {
		return // not numbered either, so that watchers see no hole
	}
	held.framesOpen++
	held.lastFrameSeq++
	held.frames = append(held.frames, &perdurev1.FrameUpload{Seq: held.lastFrameSeq, Kind: kind, Payload: payload})
	s.out.active.put(held)
	s.wake()
}

// Alive notes a sign of life; the next renewal tells it.
func (s *Session) Alive(held *Held) { held.aliveAt.Store(int64(time.Since(s.epoch))) }

// ---- what the stream says

func (s *Session) received(from *connection, message *perdurev1.ClaimResponse) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch told := message.GetMessage().(type) {
	case *perdurev1.ClaimResponse_Claims:
		// The server has refused what came on a stream after a newer hello was said.
		if !from.isStale {
			s.take(told.Claims.GetClaims(), from.number)
		}
	case *perdurev1.ClaimResponse_Settled:
		for _, answer := range told.Settled.GetSettled() {
			if from.isStale {
				answer.NextClaims = nil
			}
			s.settled(answer, from.number)
		}
	case *perdurev1.ClaimResponse_Renewed:
		s.renewed(from, told.Renewed)
	case *perdurev1.ClaimResponse_HeartbeatsAnswered:
		for _, answer := range told.HeartbeatsAnswered.GetAnswers() {
			s.heartbeatAnswered(answer)
		}
	case *perdurev1.ClaimResponse_Cancel:
		for _, cancel := range told.Cancel.GetClaims() {
			s.cancel(cancel.GetClaimToken(), cancel.GetReason())
		}
	case *perdurev1.ClaimResponse_Lost:
		for _, lost := range told.Lost.GetClaims() {
			s.lose(lost.GetClaimToken(), causeName(lost.GetCause()))
		}
	case *perdurev1.ClaimResponse_GoAway:
		s.goAway(from, told.GoAway)
	case *perdurev1.ClaimResponse_PoolsChanged:
		s.accept(told.PoolsChanged.GetPools())
	case *perdurev1.ClaimResponse_Refused:
		s.log.Error("the server refused a message of the stream", "message_no", told.Refused.GetMessageNo(), "error", textOf(wire.Of(told.Refused.GetStatus())))
	}
	// Everything else is of a newer server: by the protocol, ignored.
}

func (s *Session) renewed(from *connection, told *perdurev1.Renewed) {
	at, known := from.answered(told.GetRenewId())
	failed := wire.Of(told.GetStatus())
	switch {
	case failed == nil:
		if told.GetLeaseDuration() != nil {
			s.lease = told.GetLeaseDuration().AsDuration()
		}
		if known && from == s.current {
			s.extendLease(at)
			s.renewedUpTo(told.GetRenewId())
		}
	case failed.Reason == reasonSessionLost:
		if from == s.current {
			s.sessionIsLost()
		}
		from.leave()
	default:
		s.log.Warn("the lease was not renewed", "error", failed.Message)
		s.later(wire.Jittered(min(time.Second, from.renewInterval)), func() {
			s.out.renewWanted = true
			s.wake()
		})
	}
}

// extendLease: the own lease runs from the sending of the last answered renew, by the monotonic clock.
func (s *Session) extendLease(since time.Time) {
	s.leaseEnd = since.Add(s.lease)
	if s.leaseTimer != nil {
		s.leaseTimer.Stop()
		delete(s.timers, s.leaseTimer)
	}
	s.leaseTimer = s.later(time.Until(s.leaseEnd), func() {
		if !time.Now().Before(s.leaseEnd) { // else extended while this waited for the lock
			s.leaseIsOver()
		}
	})
}

func (s *Session) goAway(from *connection, told *perdurev1.GoAway) {
	if from != s.current {
		return
	}
	reason := strings.TrimPrefix(told.GetReason().String(), "ERROR_REASON_")
	s.log.Info("the server asks to leave this stream", "reason", reason)
	if reason == reasonSessionLost {
		s.sessionIsLost()
	}
	from.leave()
}

func (s *Session) sessionIsLost() {
	if s.id != "" {
		s.log.Warn("the session is lost: its claims are given up, a new one is opened")
	}
	s.id, s.secret = "", ""
	s.loseAll()
}

func causeName(cause perdurev1.ClaimLossCause) string {
	name := strings.TrimPrefix(cause.String(), "CLAIM_LOSS_CAUSE_")
	if _, ok := perdurev1.ClaimLossCause_name[int32(cause)]; !ok || name == "UNSPECIFIED" {
		return causeUnknown
	}
	return name
}

// ---- under the lock

// wake: there is something to say to the server, or nothing is left to be said.
func (s *Session) wake() {
	if s.finishing && len(s.claims) == 0 {
		s.finish()
	}
	if s.current != nil {
		s.current.ring()
	}
}

// later runs `call` under the lock after a delay, unless the session is over by then.
func (s *Session) later(delay time.Duration, call func()) *time.Timer {
	var timer *time.Timer
	timer = time.AfterFunc(delay, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.timers, timer)
		if !s.isOver() {
			call()
		}
	})
	s.timers[timer] = true
	return timer
}

func (s *Session) isOver() bool { return s.lifetime.Err() != nil }

// ---- the goroutine of the session

func (s *Session) main() {
	defer close(s.ended)
	defer s.log.close()
	s.err = s.keepConnected()
	s.finish()
	s.end()
	s.mutex.Lock()
	for timer := range s.timers {
		timer.Stop()
	}
	s.out.end(status.Error(codes.Unavailable, "the worker has stopped"))
	s.mutex.Unlock()
	s.background.Wait()
}

func (s *Session) keepConnected() error {
	var stream *served
	interval := wire.ReconnectInitialInterval
	defer func() { stream.end() }()
	for !isClosed(s.finished.Done()) {
		connection, err := s.tryOpen()
		if err != nil {
			return err
		}
		if connection == nil {
			s.rest(wire.Jittered(interval))
			interval = min(wire.ReconnectMaxInterval, interval*2)
			continue
		}
		stream.end()
		began := time.Now()
		stream = s.serve(connection)
		select {
		case <-stream.over:
		case <-connection.leaving:
		case <-s.finished.Done():
		}
		if time.Since(began) > wire.ReconnectMaxInterval {
			interval = wire.ReconnectInitialInterval
		}
		s.rest(wire.Jittered(interval)) // jitter, so that the workers of a fleet do not come back in step
	}
	s.sayGoodbye(stream)
	return nil
}

// served is one stream that runs.
type served struct {
	connection *connection
	over       chan struct{}
}

// end cancels a stream and waits until its goroutines are over; nil: there is none.
func (r *served) end() {
	if r != nil {
		r.connection.cancel()
		<-r.over
	}
}

func (s *Session) serve(connection *connection) *served {
	made := &served{connection, make(chan struct{})}
	go func() {
		defer close(made.over)
		err := connection.run(s)
		if err != nil && !isClosed(s.finished.Done()) && connection.isCurrent(s) {
			s.log.Warn("the stream ended; another one is opened", "error", err)
		}
	}()
	return made
}

func (c *connection) isCurrent(s *Session) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.current == c
}

// tryOpen opens a stream. Nil without an error: not now.
func (s *Session) tryOpen() (*connection, error) {
	made, welcome, err := open(s, s.hello())
	if err == nil {
		if err = s.checkDefinitions(welcome); err != nil {
			made.close()
		}
	}
	if err != nil {
		return nil, s.noteFailure(err)
	}
	s.welcomed(made, welcome)
	return made, nil
}

func (s *Session) hello() *perdurev1.Hello {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	base := s.config.Hello
	hello := &perdurev1.Hello{
		WorkerId: base.WorkerId, ClientName: base.ClientName, ClientVersion: base.ClientVersion, Capabilities: base.Capabilities,
		Pools: base.Pools, Definitions: base.Definitions, Lease: base.Lease, Labels: base.Labels, Namespace: base.Namespace,
		SessionId: s.id, SessionSecret: s.secret,
	}
	for _, held := range s.claims {
		if !held.isLost {
			hello.HeldClaimTokens = append(hello.HeldClaimTokens, held.Token)
		}
	}
	if s.current != nil {
		s.current.isStale = true
	}
	return hello
}

// DefinitionFault is the error of an offered definition that has faults.
type DefinitionFault struct {
	Index   int
	Details *wire.Details
}

// Error is the server's message.
func (f *DefinitionFault) Error() string { return textOf(f.Details) }

func (s *Session) checkDefinitions(welcome *perdurev1.Welcome) error {
	for _, told := range welcome.GetDefinitions() {
		failed := wire.Of(told.GetStatus())
		if failed == nil {
			continue
		}
		if failed.Code == codes.InvalidArgument && !isClosed(s.connected) {
			return &DefinitionFault{int(told.GetDefinitionIndex()), failed}
		}
		s.log.Warn("a definition was not registered", "index", told.GetDefinitionIndex(), "reason", failed.Reason, "error", failed.Message)
	}
	return nil
}

func (s *Session) welcomed(made *connection, welcome *perdurev1.Welcome) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	resumed := welcome.GetResumed() || s.id == ""
	s.id, s.secret = welcome.GetSessionId(), welcome.GetSessionSecret()
	s.lease = welcome.GetLeaseDuration().AsDuration()
	s.current = made
	s.sayAgainAt = time.Time{}
	s.beginStream()
	s.accept(welcome.GetPools())
	if !resumed {
		s.log.Warn("the session was not resumed: what ran under the old one is given up")
		s.loseAll()
	}
	for _, lost := range welcome.GetLost() {
		s.lose(lost.GetClaimToken(), causeName(lost.GetCause()))
	}
	for _, token := range welcome.GetCancelClaimTokens() {
		s.cancel(token, "")
	}
	s.extendLease(made.helloSent)
	s.log.Info("connected", "session", s.id, "lease", s.lease)
	if !isClosed(s.connected) {
		close(s.connected)
	}
	s.wake()
}

// noteFailure is the error, if no later try can help a worker that has never been let in.
func (s *Session) noteFailure(err error) error {
	if isClosed(s.finished.Done()) {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	explained := s.config.Explain(err)
	s.lastError = explained
	failed := wire.OfError(err)
	if _, ok := err.(*DefinitionFault); ok {
		return err
	}
	switch failed.Code {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied:
		if !isClosed(s.connected) {
			return explained
		}
	}
	if failed.Reason == reasonSessionLost {
		s.sessionIsLost()
	}
	if now := time.Now(); !now.Before(s.sayAgainAt) {
		s.sayAgainAt = now.Add(wire.FailureLogInterval)
		s.log.Warn("no stream can be opened; trying on", "error", explained)
	}
	return nil
}

// rest waits, unless the session should end.
func (s *Session) rest(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.finished.Done():
	}
}

func (s *Session) sayGoodbye(stream *served) {
	s.mutex.Lock()
	var left []string
	for _, held := range s.claims {
		if !held.isLost {
			left = append(left, held.Claim.GetStep())
		}
	}
	s.mutex.Unlock()
	if len(left) > 0 {
		s.log.Error("stopped with results unanswered; the server will hand their steps out again", "steps", fmt.Sprint(left))
	}
	close(s.goodbye)
	if stream == nil {
		return
	}
	select {
	case <-stream.over:
	case <-time.After(wire.GoodbyeTimeout):
	}
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
