package perdure

import (
	"context"
	"sync"
	"time"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/session"
)

// runner runs the activities of one worker, each on a goroutine of its own.
type runner struct {
	worker  *Worker
	session *session.Session
	// values are what activities find in their contexts; its end does not touch them.
	values context.Context
	served map[stepOfType]*Served

	mutex      sync.Mutex
	activities map[*session.Held]*activity
	// idle is closed when no activity runs, if somebody waits for that.
	idle chan struct{}
}

type stepOfType struct{ workflowType, step string }

// Begin runs the claim's activity. Under the session's lock.
func (r *runner) Begin(held *session.Held) {
	claim := held.Claim
	made := &activity{
		held: held, runner: r, checkpoint: claim.GetCheckpoint(),
		served: r.served[stepOfType{claim.GetWorkflow().GetWorkflowType(), claim.GetStep()}],
	}
	made.ctx, made.cancel = context.WithCancelCause(r.values)
	r.mutex.Lock()
	r.activities[held] = made
	r.mutex.Unlock()
	go made.run()
}

// Cancel asks an activity to stop; its result counts. Under the session's lock.
func (r *runner) Cancel(held *session.Held, reason string) {
	if found := r.find(held); found != nil {
		found.stop(reason)
	}
}

// Lose stops an activity whose result does not count any more. Under the session's lock.
func (r *runner) Lose(held *session.Held, cause string) {
	if found := r.find(held); found != nil {
		found.lose(cause)
	}
}

func (r *runner) find(held *session.Held) *activity {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.activities[held]
}

// ended: nil: nothing is to be reported.
func (r *runner) ended(found *activity, result *perdurev1.Result) {
	// First the result: who waits until all is quiet must find it told.
	r.session.Finished(found.held, result)
	r.forget(found)
}

func (r *runner) forget(found *activity) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.activities, found.held)
	if len(r.activities) == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

func (r *runner) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.activities)
}

// whenIdle is closed when no activity runs; no other begins, as the session drains.
func (r *runner) whenIdle() <-chan struct{} {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	if len(r.activities) == 0 {
		r.idle = nil
		close(idle)
	}
	return idle
}

func (r *runner) all() []*activity {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := make([]*activity, 0, len(r.activities))
	for _, one := range r.activities {
		found = append(found, one)
	}
	return found
}

// idleWithin waits until no activity runs; false: the time is over, or somebody is in a hurry.
func (r *runner) idleWithin(limit time.Duration, hurry, hurryToo <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	idle := r.whenIdle()
	select {
	case <-idle:
		return true
	case <-timer.C:
	case <-hurry:
	case <-hurryToo:
	}
	return r.count() == 0
}

// releaseAll stops all activities; those that stop for it give their claims back.
func (r *runner) releaseAll() {
	for _, one := range r.all() {
		one.stop(CancelDraining)
	}
}

// abandonAll gives the claims of activities that do not stop back, and goes on without them.
func (r *runner) abandonAll() {
	for _, one := range r.all() {
		r.worker.client.logger.Error("a step does not stop; its claim is given back while it still runs", "step", one.held.String())
		r.session.Finished(one.held, session.Released())
	}
}
