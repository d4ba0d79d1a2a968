package perdure

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc/codes"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// WatchOption says what a watch tells.
type WatchOption interface{ applyToWatch(*watching) }

type watchOption func(*watching)

func (o watchOption) applyToWatch(to *watching) { o(to) }

// WithoutFrames leaves progress frames out.
func WithoutFrames() WatchOption {
	return watchOption(func(to *watching) { to.request.IncludeFrames = false })
}

// Follow goes on into the next rounds instead of ending with this one.
func Follow() WatchOption {
	return watchOption(func(to *watching) {
		to.request.Follow = true
		to.request.Workflow.Round = nil
	})
}

// ResumeAfter goes on after an earlier event, by its resume token. Empty: from now, with a snapshot.
func ResumeAfter(token string) WatchOption {
	return watchOption(func(to *watching) { to.request.ResumeToken = token })
}

// TellIdle also gives an [*Idle] event, after about 15 s without another and whenever a lost connection is tried again: a
// moment to look whether somebody still reads what you pass on.
func TellIdle() WatchOption { return watchOption(func(to *watching) { to.tellIdle = true }) }

// Watch gives a snapshot, then changes and frames until the end. It opens itself again after a cut, without repeats:
//
//	for event, err := range run.Watch(ctx) { ... }
//
// An error ends the iteration: no such workflow, no server at all, or the end of the context. Leave the loop when you like; a
// watcher's fate never touches the workflow.
func (r *Run) Watch(ctx context.Context, options ...WatchOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		watch := &watching{
			client:  r.client,
			request: &perdurev1.WatchRequest{Workflow: r.ref.message(), IncludeFrames: true},
			changes: map[int64]int64{}, frames: map[claimOf]int64{}, began: time.Now(),
		}
		for _, option := range options {
			option.applyToWatch(watch)
		}
		for {
			done, err := watch.stream(ctx, yield)
			if done {
				return
			}
			if err = watch.consider(ctx, err); err != nil {
				yield(nil, err)
				return
			}
			if watch.tellIdle && !yield(&Idle{token(watch.request.GetResumeToken())}, nil) {
				return
			}
		}
	}
}

type claimOf struct {
	step    string
	claimNo int64
}

// watching is one iteration of a watch, over as many streams as it takes.
type watching struct {
	client   *Client
	request  *perdurev1.WatchRequest
	tellIdle bool
	changes  map[int64]int64
	frames   map[claimOf]int64
	failures int
	began    time.Time
}

// stream reads one stream; done: nothing more is to be told.
func (w *watching) stream(ctx context.Context, yield func(Event, error) bool) (done bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := &Error{Message: "the watch heard nothing, not even a keep-alive", Code: codes.Unavailable}
	idle := time.AfterFunc(wire.WatchIdleTimeout, func() { cancel(silent) })
	defer idle.Stop()
	stream, err := w.client.workflows.Watch(ctx, w.request)
	for err == nil {
		var answer *perdurev1.WatchResponse
		if answer, err = stream.Recv(); err != nil {
			break
		}
		idle.Stop() // a reader that takes its time is not a silent server
		w.failures = 0
		if w.tell(answer, yield) {
			return true, nil
		}
		idle.Reset(wire.WatchIdleTimeout)
	}
	if context.Cause(ctx) == silent {
		err = silent
	}
	return false, err
}

// tell yields the events of one answer; true: nothing more is to be told.
func (w *watching) tell(answer *perdurev1.WatchResponse, yield func(Event, error) bool) bool {
	told := false
	for _, message := range answer.GetEvents() {
		event := eventOf(message)
		if at := message.GetResumeToken(); at != "" {
			w.request.ResumeToken = at
		}
		if event == nil || !w.isNew(event) {
			continue
		}
		told = true
		_, isEnd := event.(*End)
		if !yield(event, nil) || (isEnd && !w.request.GetFollow()) {
			return true
		}
	}
	if !told && w.tellIdle {
		return !yield(&Idle{token(w.request.GetResumeToken())}, nil)
	}
	return false
}

// isNew is false for what was told before; resume tokens make that rare.
func (w *watching) isNew(event Event) bool {
	switch event := event.(type) {
	case *Snapshot:
		w.changes = map[int64]int64{event.Workflow.Ref.Round: event.Workflow.Message.GetLastChangeSeq()}
	case *Change:
		if event.Seq <= w.changes[event.Round] {
			return false
		}
		w.changes[event.Round] = event.Seq
	case *Frame:
		claim := claimOf{event.Step, event.ClaimNo}
		if event.Seq <= w.frames[claim] {
			return false
		}
		w.frames[claim] = event.Seq
	case *End:
		clear(w.frames) // the next round numbers its claims from 1 again
	}
	return true
}

// consider is the error, if a new stream cannot help; else nil, after a pause.
func (w *watching) consider(ctx context.Context, err error) error {
	w.failures++
	if ended := errorOfContext(ctx); ended != nil {
		return ended
	}
	if err == io.EOF {
		return w.pause(ctx, 0) // without the workflow's end, a server that leaves has cut it
	}
	var found *Error
	if !errors.As(err, &found) {
		return err
	}
	switch {
	case found.Reason == ReasonResumeTokenInvalid && w.request.GetResumeToken() != "":
		w.request.ResumeToken = "" // of a version that is gone: begin anew, with what there is
		return nil
	case found.Reason == ReasonWatcherTooSlow:
		return nil
	// The context has not ended: a proxy on the way has a deadline.
	case found.Code != codes.Unavailable && found.Code != codes.ResourceExhausted && found.Code != codes.DeadlineExceeded:
		return err
	case found.Reason == "" && definiteFault(found.Message) != "":
		return w.client.contact.explained(err)
	case !w.client.contact.reached.Load() && found.Reason == "" && time.Since(w.began) > w.client.contact.connectTimeout:
		return w.client.contact.explained(err)
	}
	return w.pause(ctx, found.RetryAfter)
}

func (w *watching) pause(ctx context.Context, asked time.Duration) error {
	interval := min(wire.RetryMaxInterval, wire.RetryInitialInterval<<min(w.failures, 8))
	if !sleep(ctx, max(asked, wire.Jittered(interval))) {
		return errorOfContext(ctx)
	}
	return nil
}
