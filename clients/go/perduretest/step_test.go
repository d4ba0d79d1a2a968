package perduretest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/clients/go"
	"github.com/perdure/perdure/clients/go/perduretest"
)

func transcribe(ctx perdure.Context, in struct{ Input string }) (string, error) {
	task, found, err := perdure.Checkpoint[string](ctx)
	if err == nil && !found {
		task = in.Input + "/" + ctx.IdempotencyKey()
		err = ctx.Save(task)
	}
	if err != nil {
		return "", err
	}
	ctx.Alive()
	ctx.Frame("half")
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	woken, was, err := perdure.WokenBy[int](ctx)
	if err != nil || !was {
		return "", perdure.WaitAny(perdure.Signal("asr.done"), perdure.After(30*time.Second))
	}
	if count, ok := woken.Value(); !ok || count != 3 {
		return "", &perdure.Failure{Type: "asr.count"}
	}
	return task, nil
}

func TestAStepRunsByItself(t *testing.T) {
	step := perduretest.NewStep(context.Background())
	in := struct{ Input string }{"a.mp3"}
	_, err := transcribe(step.Context(), in)
	var wait *perdure.Wait
	if !errors.As(err, &wait) || wait.Conditions() != 2 {
		t.Fatalf("it does not wait: %v", err)
	}
	if saved := step.Checkpoints(); len(saved) != 1 || len(step.Frames()) != 1 || step.SignsOfLife() != 1 {
		t.Errorf("recorded: %v, %v, %d", saved, step.Frames(), step.SignsOfLife())
	}
	woken := perduretest.NewStep(context.Background(), perduretest.Checkpoint("task-7"), perduretest.Wake("asr.done", 3))
	if text, err := transcribe(woken.Context(), in); err != nil || text != "task-7" {
		t.Errorf("woken it returns %q, %v", text, err)
	}
	timed := perduretest.NewStep(context.Background(), perduretest.Wake("after", nil))
	if _, err := transcribe(timed.Context(), in); err == nil {
		t.Error("a time carries no value")
	}
}

func TestAStepIsToldToStopAndLosesItsClaim(t *testing.T) {
	step := perduretest.NewStep(context.Background())
	step.FailNextSave(perduretest.LoseClaim())
	if _, err := transcribe(step.Context(), struct{ Input string }{}); perdure.ReasonOf(err) != perdure.ReasonClaimLost {
		t.Errorf("the save says %v", err)
	}
	step.Cancel(perdure.CancelWorkflowCancelled)
	_, err := transcribe(step.Context(), struct{ Input string }{})
	if !errors.Is(err, context.Canceled) || step.Context().CancelReason() != perdure.CancelWorkflowCancelled {
		t.Errorf("it stops with %v", err)
	}
	if found, ok := perdure.FromContext(context.WithoutCancel(step.Context())); !ok || found.Step() != "step" {
		t.Error("the step's context is not found in one derived from it")
	}
}
