package session

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// What becomes of each claim: the rules between what the server says and what the activities do. All of it runs under the
// session's lock.

const refusalsMax = 5

const (
	reasonClaimLost      = "CLAIM_LOST"
	reasonAlreadySettled = "CLAIM_ALREADY_SETTLED"
	reasonSessionLost    = "SESSION_LOST"

	causeExpired = "EXPIRED"
	causeUnknown = "UNKNOWN"
)

// ---- from the server

func (s *Session) take(claims []*perdurev1.Claim, connectionNo int64) {
	unacknowledged := false
	for _, claim := range claims {
		pool := s.poolNamed(claim.GetPool())
		if pool == nil {
			s.log.Error("a claim of an unknown pool is not taken", "pool", claim.GetPool(), "step", claim.GetStep())
			continue
		}
		if _, ok := s.claims[claim.GetClaimToken()]; ok {
			continue
		}
		pool.offered = max(0, pool.offered-1)
		held := &Held{
			Claim: claim, Token: claim.GetClaimToken(), pool: pool, connectionNo: connectionNo, receivedAt: time.Now(),
			mustRenew: claim.GetBeginAfterRenewed(), checkpointNo: claim.GetCheckpointNo(),
		}
		s.Alive(held)
		s.claims[held.Token] = held
		unacknowledged = true
		if s.isWanted(held) {
			s.place(held)
		} else {
			s.settleUnbegun(held, Released())
		}
	}
	if unacknowledged {
		s.acknowledgeLater()
	}
	s.wake()
}

// acknowledge: claims that still run and were not named yet are acknowledged by a renew, however many, once.
func (s *Session) acknowledge() {
	s.acknowledging = false
	var oldest time.Time
	for _, held := range s.claims {
		if !held.isLost && !held.acknowledged && (oldest.IsZero() || held.receivedAt.Before(oldest)) {
			oldest = held.receivedAt
		}
	}
	switch {
	case oldest.IsZero():
	// The younger ones are named too, but do not ask for it: most of them will have a result before their time comes.
	case time.Since(oldest) >= wire.AcknowledgeDelay/2:
		s.out.renewWanted = true
		s.wake()
	default:
		s.acknowledgeLater()
	}
}

func (s *Session) acknowledgeLater() {
	if !s.acknowledging {
		s.acknowledging = true
		s.later(wire.AcknowledgeDelay, s.acknowledge)
	}
}

// cancel: an activity should stop.
func (s *Session) cancel(token, reason string) {
	held := s.claims[token]
	if held == nil || held.cancelReason != "" || held.phase == settling {
		return
	}
	if reason == "" {
		reason = "WORKFLOW_CANCELLED"
	}
	held.cancelReason = reason
	if held.phase == running {
		s.runner.Cancel(held, reason)
	} else {
		s.settleUnbegun(held, Cancelled())
	}
}

// lose: a claim is not this worker's any more. What has been sent of it is still answered, and has offered its slot.
func (s *Session) lose(token, cause string) {
	held := s.claims[token]
	if held == nil {
		return
	}
	if held.phase != settling && !held.isLost {
		s.drop(held, cause)
	}
}

// loseAll: the session is dead: all that still runs is lost; results that are on the way may still count.
func (s *Session) loseAll() {
	for token := range s.claims {
		s.lose(token, causeExpired)
	}
}

// leaseIsOver: activities that hold permits stop; the others go on until they are told otherwise.
func (s *Session) leaseIsOver() {
	for token, held := range s.claims {
		if held.Claim.GetStopAtLeaseEnd() && held.phase != settling && !held.isLost {
			s.log.Warn("the lease ended without a renewal: the activity stops", about(held.Claim)...)
			s.lose(token, causeExpired)
		}
	}
}

// renewedUpTo: a renewal is stored: what waited for it begins.
func (s *Session) renewedUpTo(renewID int64) {
	for _, held := range s.claims {
		if held.mustRenew && held.namedIn > 0 && held.namedIn <= renewID {
			held.mustRenew = false
			if held.phase == heldBack && held.hasSlot && !held.isLost {
				s.begin(held)
			}
		}
	}
}

// settled: the answer to a result on the stream.
func (s *Session) settled(answer *perdurev1.Settled, connectionNo int64) {
	if held := s.out.sentResults[answer.GetResultId()]; held != nil {
		delete(s.out.sentResults, answer.GetResultId())
		s.conclude(held, wire.Of(answer.GetStatus()))
	}
	if len(answer.GetNextClaims()) > 0 {
		s.take(answer.GetNextClaims(), connectionNo)
	} else {
		s.wake()
	}
}

// conclude: a result is answered: done, to be said again, or never to be taken.
func (s *Session) conclude(held *Held, failed *wire.Details) {
	if s.claims[held.Token] != held {
		return
	}
	defer s.wake()
	switch {
	case failed == nil:
		s.remove(held)
	case failed.Reason == reasonClaimLost:
		s.log.Info("a result came too late", append(about(held.Claim), "cause", causeOf(failed))...)
		s.drop(held, causeOf(failed))
	case isPassing(failed) && held.refusals < refusalsMax:
		if isServerFault(failed) {
			held.refusals++
		}
		s.later(pauseOf(failed), func() { s.sendResult(held) })
	case held.refusals > 0 || failed.Reason == reasonAlreadySettled:
		s.log.Error("a result is not taken, and is dropped", append(about(held.Claim), "error", failed.Message)...)
		s.drop(held, causeUnknown)
	default:
		s.log.Error("a result is not taken; the attempt fails instead", append(about(held.Claim), "error", failed.Message)...)
		held.refusals = 1
		held.result = s.addressed(refused(textOf(failed)), held)
		s.sendResult(held)
	}
}

// heartbeatAnswered: a checkpoint is stored, or not.
func (s *Session) heartbeatAnswered(answer *perdurev1.HeartbeatAnswer) {
	found := s.out.sentHeartbeats[answer.GetHeartbeatId()]
	delete(s.out.sentHeartbeats, answer.GetHeartbeatId())
	failed := wire.Of(answer.GetStatus())
	token := answer.GetClaimToken()
	if found != nil {
		token = found.held.Token
		if failed != nil && (failed.Code == codes.Unavailable || failed.Code == codes.ResourceExhausted) {
			s.out.resting[found] = true
			s.later(pauseOf(failed), func() { s.sayAgain(found) })
			return
		}
		found.held.framesOpen -= len(found.heartbeat.GetFrames())
		found.tell(ErrorOf(failed))
	}
	if failed != nil {
		if failed.Reason == reasonClaimLost {
			s.lose(token, causeOf(failed))
		} else {
			s.log.Warn("a checkpoint or frame was not taken", "error", failed.Message)
		}
	}
	if answer.GetCancelRequested() {
		s.cancel(token, "")
	}
}

func (s *Session) sayAgain(found *sent) {
	if !s.out.resting[found] {
		return // its claim was lost meanwhile, and it was told
	}
	delete(s.out.resting, found)
	if s.claims[found.held.Token] != found.held || found.held.isLost {
		found.tell(LostError(causeUnknown))
		return
	}
	s.out.again = append(s.out.again, found)
	s.wake()
}

// accept is what the server makes of the pools: the contracts that claims must have.
func (s *Session) accept(statuses []*perdurev1.PoolStatus) {
	for _, told := range statuses {
		pool := s.poolNamed(told.GetPool())
		if pool == nil {
			continue
		}
		if failed := wire.Of(told.GetStatus()); failed != nil {
			s.log.Warn("a pool is not served for now", "pool", pool.name, "reason", failed.Reason, "error", failed.Message)
		}
		pool.contracts = map[string]string{}
		for _, step := range told.GetSteps() {
			pool.contracts[step.GetStep()] = step.GetStepContract()
			if failed := wire.Of(step.GetStatus()); failed != nil {
				s.log.Warn("a step is not served for now", "pool", pool.name, "step", step.GetStep(), "reason", failed.Reason, "error", failed.Message)
			}
		}
	}
}

// ---- inner rules

func (s *Session) isWanted(held *Held) bool {
	if s.draining {
		return false
	}
	contract, ok := held.pool.contracts[held.Claim.GetStep()]
	if !ok || (contract != "" && contract != held.Claim.GetStepContract()) {
		s.log.Error("a claim has another contract than this worker was built for: it is given back",
			append(about(held.Claim), "contract", held.Claim.GetStepContract(), "built_for", contract)...)
		return false
	}
	return true
}

func (s *Session) place(held *Held) {
	if s.draining {
		s.settleUnbegun(held, Released()) // it waited for a slot that becomes free only now
		return
	}
	if held.Claim.GetCancelRequested() {
		held.cancelReason = "WORKFLOW_CANCELLED"
		s.settleUnbegun(held, Cancelled())
		return
	}
	if !held.pool.hasRoom() {
		held.pool.waiting = append(held.pool.waiting, held)
		return
	}
	held.hasSlot = true
	held.pool.running++
	if held.mustRenew {
		s.out.renewWanted = true
	} else {
		s.begin(held)
	}
}

func (s *Session) begin(held *Held) {
	if held.Claim.GetStopAtLeaseEnd() && !time.Now().Before(s.leaseEnd) {
		s.lose(held.Token, causeExpired) // the timer of the lease's end has run before it came
		return
	}
	held.phase = running
	s.Alive(held)
	s.runner.Begin(held)
}

func (s *Session) settleUnbegun(held *Held, result *perdurev1.Result) {
	held.phase = settling
	s.freeSlot(held)
	held.result = s.addressed(result, held)
	s.sendResult(held)
}

// addressed is the result of this very claim, its checkpoint behind those that were saved before.
func (s *Session) addressed(result *perdurev1.Result, held *Held) *perdurev1.Result {
	if s.config.Seal != nil {
		s.config.Seal(result) // the activity's side has sealed its own; what is made on this side is small
	}
	result.ClaimToken = held.Token
	frames := held.lastFrameSeq
	result.LastFrameSeq = &frames
	if waiting := result.GetWaiting(); waiting != nil && waiting.GetCheckpoint() != nil {
		held.checkpointNo++
		waiting.CheckpointNo = held.checkpointNo
	}
	return result
}

func (s *Session) sendResult(held *Held) {
	if s.claims[held.Token] != held || held.result == nil || s.isOver() {
		return
	}
	if proto.Size(held.result) > wire.StreamResultBytes {
		s.sendLargeResult(held)
	} else {
		s.out.results.put(held)
	}
	s.wake()
}

func (s *Session) drop(held *Held, cause string) {
	held.isLost = true
	s.out.forget(held, LostError(cause))
	if held.phase == running {
		s.runner.Lose(held, cause)
		return // its slot is free when the activity has ended
	}
	s.freeSlot(held)
	s.remove(held)
	s.wake()
}

func (s *Session) remove(held *Held) { delete(s.claims, held.Token) }

func (s *Session) freeSlot(held *Held) {
	held.pool.forget(held)
	if !held.hasSlot {
		return
	}
	held.hasSlot = false
	held.pool.running--
	if len(held.pool.waiting) > 0 && held.pool.hasRoom() {
		next := held.pool.waiting[0]
		held.pool.waiting = slices.Delete(held.pool.waiting, 0, 1)
		s.place(next)
	}
}

func (s *Session) poolNamed(name string) *pool {
	for _, pool := range s.pools {
		if pool.name == name {
			return pool
		}
	}
	return nil
}

// ---- words for errors

// LostError is the error of a claim that the stream reported lost, or that this worker gave up.
func LostError(cause string) error { return &Lost{cause} }

// Lost says that a claim is not this worker's any more.
type Lost struct{ Cause string }

// Error says why.
func (l *Lost) Error() string { return fmt.Sprintf("the claim is lost (%s)", l.Cause) }

// Failed is what the server answered; it has all that was told.
type Failed struct{ Details *wire.Details }

// Error is the server's message.
func (f *Failed) Error() string { return f.Details.Message }

// GRPCStatus is the status of it, without details.
func (f *Failed) GRPCStatus() *status.Status { return status.New(f.Details.Code, f.Details.Message) }

// ErrorOf is the error of what the server answered; nil: nothing failed.
func ErrorOf(failed *wire.Details) error {
	if failed == nil {
		return nil
	}
	if failed.Reason == reasonClaimLost {
		return LostError(causeOf(failed))
	}
	return &Failed{failed}
}

func causeOf(failed *wire.Details) string {
	if cause := failed.Facts["cause"]; cause != "" {
		return cause
	}
	return causeUnknown
}

func isServerFault(failed *wire.Details) bool {
	return failed.Code == codes.Internal || failed.Code == codes.DataLoss || failed.Code == codes.Unknown
}

// isPassing: another try may help. RESOURCE_EXHAUSTED without a reason is gRPC's own: the message is too large, and stays so.
func isPassing(failed *wire.Details) bool {
	isOverload := failed.Code == codes.ResourceExhausted && failed.Reason != ""
	return failed.Code == codes.Unavailable || isOverload || isServerFault(failed)
}

func pauseOf(failed *wire.Details) time.Duration {
	if failed.RetryAfter > 0 {
		return failed.RetryAfter
	}
	return wire.RetryMaxInterval / 4
}

func textOf(failed *wire.Details) string {
	text := failed.Message
	if failed.Reason != "" {
		text += " [" + failed.Reason + "]"
	}
	for _, violation := range failed.Violations {
		text += "\n  " + violation.Field + ": " + violation.Description
	}
	return text
}

// about is what a line of the log is about. Never a payload, never a token.
func about(claim *perdurev1.Claim) []any {
	workflow := claim.GetWorkflow()
	return []any{
		"workflow", workflow.GetNamespace() + "/" + workflow.GetWorkflowType() + "/" + workflow.GetBusinessKey(),
		"step", claim.GetStep(), "claim_no", claim.GetClaimNo(),
	}
}
