package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/clients/go"
)

const waitResultType = "application/vnd.perdure.wait-result+json"

// script is what the activities that it fits do.
type script struct {
	Step       *string
	Key        *string
	Attempt    *int
	ClaimNo    *int64 `json:"claim_no"`
	Operations []map[string]json.RawMessage
}

func (s *script) fits(ctx perdure.Context) bool {
	return (s.Step == nil || *s.Step == ctx.Step()) && (s.Key == nil || *s.Key == ctx.BusinessKey()) &&
		(s.Attempt == nil || *s.Attempt == ctx.Attempt()) && (s.ClaimNo == nil || *s.ClaimNo == ctx.ClaimNo())
}

// playing is one activity.
type playing struct {
	working *working
	ctx     perdure.Context
	inputs  perdure.Inputs
	name    string
}

// What an activity ends with, for its `ended` event.
const (
	returned = "returned"
	failed   = "failed"
	stopped  = "stopped"
	faulty   = "error"
)

// play is the handler of all steps.
func (w *working) play(ctx perdure.Context, inputs perdure.Inputs) (any, error) {
	workflow := ctx.Workflow()
	made := &playing{w, ctx, inputs, fmt.Sprintf("%s/%s/%s/%s/%d/%d", workflow.Namespace, workflow.Type, workflow.Key, ctx.Step(), workflow.Round, ctx.ClaimNo())}
	began, err := made.began()
	if err != nil {
		return nil, err
	}
	made.tell("began", began)
	value, outcome, err := made.operations()
	more := object{"outcome": outcome}
	if outcome == faulty {
		more["error"] = errorOf(err)
	}
	made.tell("ended", more)
	return value, err
}

func (p *playing) tell(event string, more object) {
	line := object{"event": event, "worker": p.working.name, "activity": p.name}
	maps.Copy(line, more)
	p.working.driver.say(line)
}

func (p *playing) began() (object, error) {
	ctx, workflow := p.ctx, p.ctx.Workflow()
	made := object{
		"namespace": workflow.Namespace, "type": workflow.Type, "key": workflow.Key, "round": workflow.Round, "step": ctx.Step(),
		"claim_no": ctx.ClaimNo(), "attempt": ctx.Attempt(), "fence": ctx.Fence(), "idempotency_key": ctx.IdempotencyKey(),
		"wake_token": ctx.WakeToken(), "traceparent": traceparent(ctx), "labels": orEmpty(ctx.Labels()),
	}
	putFailure(made, "last_failure", ctx.LastFailure())
	inputs, err := p.inputsTold()
	if err != nil {
		return nil, err
	}
	made["inputs"] = inputs
	checkpoint, _, err := perdure.Checkpoint[perdure.Payload](ctx)
	cursor, _, failed := perdure.Cursor[perdure.Payload](ctx)
	if err = errors.Join(err, failed, put(made, "checkpoint", checkpoint), put(made, "cursor", cursor)); err != nil {
		return nil, err
	}
	woken, _, err := perdure.WokenBy[perdure.Payload](ctx)
	if err != nil {
		return nil, err
	}
	if made["wakes"], err = wakesOf(woken.Wakes); err != nil {
		return nil, err
	}
	if hook := ctx.Hook(); hook != nil {
		if made["hook"], err = hookOf(hook); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (p *playing) inputsTold() (object, error) {
	made := object{}
	for name, payload := range p.inputs {
		if payload.ContentType() != waitResultType {
			if err := put(made, name, payload); err != nil {
				return nil, err
			}
			continue
		}
		woken, err := perdure.DecodeWoken[perdure.Payload](payload)
		if err != nil {
			return nil, err
		}
		wakes, err := wakesOf(woken.Wakes)
		if err != nil {
			return nil, err
		}
		made[name] = object{"condition": woken.Condition, "wakes": wakes}
	}
	for name, failure := range p.ctx.FailedInputs() {
		made[name] = object{"$failure": failureOf(failure)}
	}
	return made, nil
}

func hookOf(hook *perdure.Hook) (object, error) {
	made := object{
		"kind": hook.Kind, "compensates": hook.Compensates, "in_doubt": hook.InDoubt, "failed_step": hook.FailedStep,
		"cancel_reason": hook.CancelReason,
	}
	putFailure(made, "failure", hook.Failure)
	unfinished := []object{}
	for _, step := range hook.Unfinished {
		one := object{"step": step.Step, "state": step.State}
		if err := put(one, "checkpoint", step.Checkpoint); err != nil {
			return nil, err
		}
		unfinished = append(unfinished, one)
	}
	made["unfinished"] = unfinished
	return made, put(made, "compensated_output", hook.CompensatedOutput)
}

// traceparent is that of the activity's own span; of a trace that nobody records it is the claim's.
func traceparent(ctx perdure.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ctx.Traceparent()
	}
	return fmt.Sprintf("00-%s-%s-%s", span.TraceID(), span.SpanID(), span.TraceFlags())
}

func (p *playing) operations() (value any, outcome string, err error) {
	for index := range p.working.behaviour {
		if found := &p.working.behaviour[index]; found.fits(p.ctx) {
			for _, raw := range found.Operations {
				told := &fields{raw: raw}
				if value, outcome, err = p.do(told); outcome != "" {
					return value, outcome, err
				}
			}
			return nil, returned, nil
		}
	}
	return nil, failed, &perdure.Failure{Type: "driver.no_script", Message: "no script fits", NonRetryable: true}
}

// do plays one operation; an empty outcome: the next one follows.
func (p *playing) do(told *fields) (any, string, error) {
	switch told.text("op") {
	case "save":
		return p.save(told)
	case "frame":
		p.ctx.Frame(told.text("text"))
	case "log":
		p.ctx.Log(told.text("text"))
	case "progress":
		var progress perdure.Progress
		_ = errors.Join(told.read("done", &progress.Done), told.read("total", &progress.Total)) // what is no number counts as none
		progress.Unit, progress.Message = told.text("unit"), told.text("message")
		p.ctx.Progress(progress)
	case "alive":
		p.ctx.Alive()
	case "hold":
		return p.hold(told.text("on_cancel") == "ignore")
	case "block":
		time.Sleep(told.milliseconds("ms")) // deaf to everything
	case "raise":
		return nil, failed, errors.New(told.text("message"))
	case "fail":
		return p.fail(told)
	default:
		return p.end(told)
	}
	return nil, "", nil
}

// end plays those that end the handler well.
func (p *playing) end(told *fields) (any, string, error) {
	switch told.text("op") {
	case "return":
		value, err := told.value("value")
		return ended(value, err)
	case "echo":
		return p.inputs[told.text("input")], returned, nil
	case "wait":
		return p.wait(told)
	case "choose":
		var branches []string
		value, err := told.value("value")
		err = errors.Join(err, told.read("branches", &branches))
		return ended(perdure.Choose(value, branches...), err)
	case "page":
		return p.page(told)
	}
	return nil, faulty, usage("no operation is called %q", told.text("op"))
}

func ended(value any, err error) (any, string, error) {
	if err != nil {
		return nil, faulty, err
	}
	return value, returned, nil
}

func (p *playing) save(told *fields) (any, string, error) {
	value, err := told.value("value")
	if err == nil {
		err = p.ctx.Save(value)
	}
	if err != nil {
		return nil, faulty, err
	}
	more := object{}
	stored, _, err := perdure.Checkpoint[perdure.Payload](p.ctx)
	if err = errors.Join(err, put(more, "checkpoint", stored)); err != nil {
		return nil, faulty, err
	}
	p.tell("saved", more)
	return nil, "", nil
}

func (p *playing) hold(deaf bool) (any, string, error) {
	held := p.working.hold(pass{p.ctx.Step(), p.ctx.BusinessKey()})
	p.tell("held", nil)
	select {
	case <-held.goOn:
		return nil, "", nil
	case <-p.ctx.Done():
	}
	p.tell("cancelled", object{"reason": p.ctx.CancelReason()})
	if deaf {
		<-held.goOn
		return nil, "", nil
	}
	p.working.letGo(held)
	return nil, stopped, context.Cause(p.ctx)
}

func (p *playing) fail(told *fields) (any, string, error) {
	failure := &perdure.Failure{
		Type: told.text("type"), Message: told.text("message"), NonRetryable: told.flag("non_retryable"),
		RetryAfter: told.milliseconds("retry_after_ms"),
	}
	details, err := told.value("details")
	if err != nil {
		return nil, faulty, err
	}
	if told.has("retry_after_ms") && failure.RetryAfter == 0 {
		failure.RetryAfter = perdure.AtOnce
	}
	failure.Details = details
	return nil, failed, failure
}

func (p *playing) wait(told *fields) (any, string, error) {
	var conditions []map[string]json.RawMessage
	if err := told.read("any_of", &conditions); err != nil {
		return nil, faulty, err
	}
	var made []perdure.Condition
	for _, raw := range conditions {
		condition, err := conditionOf(&fields{raw: raw})
		if err != nil {
			return nil, faulty, err
		}
		made = append(made, condition)
	}
	wait := perdure.WaitAny(made...)
	if told.has("checkpoint") || told.flag("clear_checkpoint") {
		checkpoint, err := told.value("checkpoint")
		if err != nil {
			return nil, faulty, err
		}
		wait = wait.Saving(checkpoint)
	}
	return nil, returned, wait
}

func conditionOf(told *fields) (perdure.Condition, error) {
	var made perdure.Condition
	switch {
	case told.has("signal"):
		made = perdure.Signal(told.text("signal"))
		if told.has("count") {
			made = made.Count(int(told.integer("count")))
		}
	case told.has("after_ms"):
		made = perdure.After(told.milliseconds("after_ms"))
	default:
		when, err := time.Parse(time.RFC3339Nano, strings.ToUpper(told.text("at")))
		if err != nil {
			return made, usage("a condition is one of signal, after_ms, at: %v", err)
		}
		made = perdure.At(when)
	}
	if told.has("name") {
		made = made.Named(told.text("name"))
	}
	return made, nil
}

func (p *playing) page(told *fields) (any, string, error) {
	var children []json.RawMessage
	if err := told.read("children", &children); err != nil {
		return nil, faulty, err
	}
	var made perdure.Page
	for _, raw := range children {
		child, err := valueOf(raw)
		if err != nil {
			return nil, faulty, err
		}
		made.Children = append(made.Children, child)
	}
	cursor, err := told.value("cursor")
	made.Cursor = cursor
	return ended(made, err)
}
