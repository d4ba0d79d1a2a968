package main

import (
	"context"
	"maps"

	"github.com/perdure/perdure/clients/go"
)

// watching is one watch that is told.
type watching struct {
	stop context.CancelFunc
	over chan struct{}
}

func (d *driver) watch(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	var options []perdure.WatchOption
	if told.has("frames") && !told.flag("frames") {
		options = append(options, perdure.WithoutFrames())
	}
	if told.flag("follow") {
		options = append(options, perdure.Follow())
	}
	if told.has("resume_token") {
		options = append(options, perdure.ResumeAfter(told.text("resume_token")))
	}
	ctx, stop := context.WithCancel(ctx)
	made := &watching{stop, make(chan struct{})}
	name := told.text("watch")
	d.mutex.Lock()
	d.watches[name] = made
	d.mutex.Unlock()
	go func() {
		defer close(made.over)
		defer stop()
		d.follow(ctx, name, run, options)
	}()
	return nil, nil
}

func (d *driver) follow(ctx context.Context, name string, run *perdure.Run, options []perdure.WatchOption) {
	last := ""
	for event, err := range run.Watch(ctx, options...) {
		if ctx.Err() != nil {
			return // nothing follows unwatch
		}
		var line object
		if err == nil {
			line, err = eventOf(ctx, event, run)
		}
		if err != nil {
			d.say(object{"event": "watch", "watch": name, "kind": "error", "resume_token": last, "error": errorOf(err)})
			return
		}
		last = event.ResumeToken()
		maps.Copy(line, object{"event": "watch", "watch": name, "resume_token": last})
		d.say(line)
	}
	d.say(object{"event": "watch", "watch": name, "kind": "closed", "resume_token": last})
}

func (d *driver) unwatch(_ context.Context, told *fields) (any, error) {
	d.mutex.Lock()
	found := d.watches[told.text("watch")]
	delete(d.watches, told.text("watch"))
	d.mutex.Unlock()
	if found == nil {
		return nil, usage("no watch is called %q", told.text("watch"))
	}
	found.stop()
	<-found.over
	return nil, nil
}

func eventOf(ctx context.Context, event perdure.Event, run *perdure.Run) (object, error) {
	switch event := event.(type) {
	case *perdure.Snapshot:
		workflow, err := workflowOf(ctx, event.Workflow, run)
		return object{"kind": "snapshot", "workflow": workflow}, err
	case *perdure.Change:
		return changeOf(event), nil
	case *perdure.Frame:
		line := object{"kind": "frame", "step": event.Step, "claim_no": event.ClaimNo, "seq": event.Seq, "frame_kind": event.Kind}
		return line, put(line, "value", event.Value)
	case *perdure.FramesReset:
		return object{"kind": "frames_reset", "step": event.Step, "claim_no": event.ClaimNo}, nil
	case *perdure.Gap:
		return object{"kind": "gap", "changes": event.Changes, "frames": event.Frames, "reason": event.Reason}, nil
	case *perdure.End:
		line := object{"kind": "end", "state": event.State, "round": event.Round, "fence": event.Fence}
		putFailure(line, "failure", event.Failure)
		return line, fetchInto(ctx, run, line, "output", event.Output)
	}
	return object{"kind": "unknown"}, nil
}

func changeOf(event *perdure.Change) object {
	line := object{
		"kind": "change", "seq": event.Seq, "round": event.Round, "reason": event.Reason, "step": event.Step, "attempt": event.Attempt,
		"claim_no": event.ClaimNo, "worker_id": event.WorkerID, "signal_name": event.SignalName, "signals": orNone(event.Signals),
	}
	if event.StepState != "" {
		line["step_state"] = event.StepState
	}
	if event.State != "" {
		line["workflow_state"] = event.State
	}
	putFailure(line, "failure", event.Failure)
	return line
}
