package session

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Results and checkpoints that are too large for the stream go by unary calls on another connection, as long as it takes; the
// claims stay held, and renewed, meanwhile.

func (s *Session) sendLargeResult(held *Held) {
	request := unaryOf(held.result)
	s.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, wire.CallTimeout)
		defer cancel()
		_, err := s.config.Calls.Complete(ctx, request)
		failed := wire.OfError(err)
		if failed != nil && isTimeout(failed) {
			failed.Code = codes.Unavailable
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.conclude(held, failed)
	})
}

func (s *Session) sendLargeCheckpoint(held *Held, checkpoint save) {
	request := &perdurev1.HeartbeatRequest{ClaimToken: held.Token, Checkpoint: checkpoint.checkpoint, CheckpointNo: checkpoint.number}
	s.spawn(func(ctx context.Context) {
		checkpoint.reply(s.heartbeatUntilAnswered(ctx, held, request))
	})
}

func (s *Session) heartbeatUntilAnswered(ctx context.Context, held *Held, request *perdurev1.HeartbeatRequest) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, wire.CallTimeout)
		answer, err := s.config.Calls.Heartbeat(bounded, request)
		cancel()
		failed := wire.OfError(err)
		s.mutex.Lock()
		isLost := held.isLost || s.claims[held.Token] != held
		switch {
		case failed == nil && answer.GetCancelRequested():
			s.cancel(held.Token, "")
		case failed != nil && failed.Reason == reasonClaimLost:
			s.lose(held.Token, causeOf(failed))
		}
		s.mutex.Unlock()
		if failed == nil || (failed.Code != codes.Unavailable && !isTimeout(failed)) {
			return ErrorOf(failed)
		}
		if isLost {
			return LostError(causeUnknown)
		}
		select {
		case <-time.After(wire.RetryInitialInterval):
		case <-ctx.Done():
			return ErrorOf(failed)
		}
	}
}

func isTimeout(failed *wire.Details) bool {
	return failed.Code == codes.DeadlineExceeded || failed.Code == codes.Canceled
}

// spawn runs work that the session waits for at its end. Under the lock, so that none begins after that.
func (s *Session) spawn(work func(ctx context.Context)) {
	s.background.Add(1)
	go func() {
		defer s.background.Done()
		work(s.lifetime)
	}()
}
