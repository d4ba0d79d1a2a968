package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

func (d *driver) open(_ context.Context, told *fields) (any, error) {
	pools := &poolLog{driver: d}
	options := []perdure.DialOption{perdure.WithAddress(told.text("address")), perdure.WithLogger(slog.New(pools))}
	if told.has("namespace") {
		options = append(options, perdure.WithNamespace(told.text("namespace")))
	}
	if told.has("token") {
		options = append(options, perdure.WithToken(told.text("token")))
	}
	if told.has("token_file") {
		options = append(options, perdure.WithTokenFile(told.text("token_file")))
	}
	if told.has("tls") {
		files := struct {
			CAFile     string `json:"ca_file"`
			CertFile   string `json:"cert_file"`
			KeyFile    string `json:"key_file"`
			ServerName string `json:"server_name"`
		}{}
		if string(told.raw["tls"]) != "true" {
			if err := told.read("tls", &files); err != nil {
				return nil, err
			}
		}
		options = append(options, perdure.WithTLS(perdure.TLS(files)))
	}
	if told.has("codec_keys") {
		codec, err := perdure.LoadKeyFile(told.text("codec_keys"))
		if err != nil {
			return nil, err
		}
		options = append(options, perdure.WithCodec(codec))
	}
	if told.has("timeout_ms") {
		options = append(options, perdure.WithTimeout(told.milliseconds("timeout_ms")))
	}
	if told.has("connect_timeout_ms") {
		options = append(options, perdure.WithConnectTimeout(told.milliseconds("connect_timeout_ms")))
	}
	client, err := perdure.Dial(options...)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.clients[told.text("client")] = client
	d.pools[client] = pools
	return nil, nil
}

func (d *driver) client(told *fields) (*perdure.Client, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found := d.clients[told.text("client")]
	if found == nil {
		return nil, usage("no client is called %q", told.text("client"))
	}
	return found, nil
}

func (d *driver) close(_ context.Context, told *fields) (any, error) {
	found, err := d.client(told)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	delete(d.clients, told.text("client"))
	d.mutex.Unlock()
	return nil, found.Close()
}

func (d *driver) run(told *fields) (*perdure.Run, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	var options []perdure.RunOption
	if told.has("round") {
		options = append(options, perdure.InRound(told.integer("round")))
	}
	if told.has("expected_fence") {
		options = append(options, perdure.ExpectedFence(told.integer("expected_fence")))
	}
	return client.Run(told.text("type"), told.text("key"), options...), nil
}

func (d *driver) start(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	input, err := told.value("input")
	if err != nil {
		return nil, err
	}
	options, err := startOptions(told)
	if err != nil {
		return nil, err
	}
	if parent := told.text("traceparent"); parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	run, err := client.Start(ctx, told.text("type"), told.text("key"), input, options...)
	if err != nil {
		return nil, err
	}
	answer := run.Started()
	return object{
		"created": run.Created(), "run_id": answer.GetRunId(), "round": run.Ref().Round, "fence": answer.GetFence(),
		"state": strings.TrimPrefix(answer.GetState().String(), "STATE_"), "definition_fingerprint": answer.GetDefinitionFingerprint(),
	}, nil
}

func startOptions(told *fields) ([]perdure.StartOption, error) {
	var given struct {
		Labels     map[string]string
		StartAt    *time.Time        `json:"start_at"`
		StepQueues map[string]string `json:"step_queues"`
		Priority   *int
		Weight     float64 `json:"fairness_weight"`
		Signals    []map[string]json.RawMessage
	}
	whole, err := json.Marshal(told.raw)
	if err == nil {
		err = json.Unmarshal(whole, &given)
	}
	if err != nil {
		return nil, usage("a field of start: %v", err)
	}
	var made []perdure.StartOption
	when := func(name string, option func() perdure.StartOption) {
		if told.has(name) {
			made = append(made, option())
		}
	}
	when("labels", func() perdure.StartOption { return perdure.Labels(given.Labels) })
	when("request_id", func() perdure.StartOption { return perdure.RequestID(told.text("request_id")) })
	when("on_open", func() perdure.StartOption {
		return perdure.OnOpen(perdure.OpenPolicy(strings.ToUpper(told.text("on_open"))))
	})
	when("on_closed", func() perdure.StartOption {
		return perdure.OnClosed(perdure.ClosedPolicy(strings.ToUpper(told.text("on_closed"))))
	})
	when("start_at", func() perdure.StartOption { return perdure.StartAt(*given.StartAt) })
	when("priority", func() perdure.StartOption { return perdure.Priority(*given.Priority) })
	when("queue", func() perdure.StartOption { return perdure.Queue(told.text("queue")) })
	when("fairness_key", func() perdure.StartOption { return perdure.Fairness(told.text("fairness_key"), given.Weight) })
	when("workflow_timeout_ms", func() perdure.StartOption { return perdure.WorkflowTimeout(told.milliseconds("workflow_timeout_ms")) })
	when("retention_ms", func() perdure.StartOption { return perdure.Retention(told.milliseconds("retention_ms")) })
	when("definition_fingerprint", func() perdure.StartOption { return perdure.Fingerprint(told.text("definition_fingerprint")) })
	when("expected_fence", func() perdure.StartOption { return perdure.ExpectedFence(told.integer("expected_fence")) })
	if told.flag("validate_only") {
		made = append(made, perdure.ValidateOnly())
	}
	for step, queue := range given.StepQueues {
		made = append(made, perdure.StepQueue(step, queue))
	}
	for _, one := range given.Signals {
		signal := &fields{raw: one}
		value, err := signal.value("value")
		if err != nil {
			return nil, err
		}
		made = append(made, perdure.WithSignal(signal.text("name"), value, signal.text("signal_id")))
	}
	return made, nil
}

func (d *driver) signal(ctx context.Context, told *fields) (any, error) {
	value, err := told.value("value")
	if err != nil {
		return nil, err
	}
	var options []perdure.SignalOption
	if told.has("signal_id") {
		options = append(options, perdure.SignalID(told.text("signal_id")))
	}
	var answer perdure.Signalled
	if told.has("wake_token") {
		var client *perdure.Client
		if client, err = d.client(told); err == nil {
			answer, err = client.SignalByToken(ctx, told.text("wake_token"), told.text("name"), value, options...)
		}
	} else {
		var run *perdure.Run
		if run, err = d.run(told); err == nil {
			answer, err = run.Signal(ctx, told.text("name"), value, options...)
		}
	}
	return object{"duplicate": answer.Duplicate, "consumed": answer.Consumed, "signal_id": answer.ID}, err
}

func (d *driver) result(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	if told.has("timeout_ms") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, told.milliseconds("timeout_ms"))
		defer cancel()
	}
	payload, err := perdure.Result[perdure.Payload](ctx, run)
	if err != nil {
		if told.has("timeout_ms") && errors.Is(err, context.DeadlineExceeded) { // the server may be the first to tell
			return nil, &timedOut{err}
		}
		return nil, err
	}
	made := object{}
	return made, put(made, "value", payload)
}

func (d *driver) get(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	found, err := run.Get(ctx)
	if err != nil {
		return nil, err
	}
	return workflowOf(ctx, found, run)
}

func (d *driver) list(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(told)
	if err != nil {
		return nil, err
	}
	var options []perdure.ReadOption
	if told.flag("oldest_first") {
		options = append(options, perdure.OldestFirst())
	}
	return all(ctx, client.List(ctx, filter, options...))
}

func filterOf(told *fields) (perdure.Filter, error) {
	var made perdure.Filter
	if told.has("type") {
		made.Types = []string{told.text("type")}
	}
	return made, errors.Join(told.read("states", &made.States), told.read("labels", &made.Labels), told.read("keys", &made.Keys))
}

func all(ctx context.Context, found iter.Seq2[*perdure.Workflow, error]) (any, error) {
	made := []object{}
	for workflow, err := range found {
		if err != nil {
			return nil, err
		}
		one, err := workflowOf(ctx, workflow, nil)
		if err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return object{"workflows": made}, nil
}

func (d *driver) children(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	return all(ctx, run.Children(ctx, told.text("step")))
}

func (d *driver) attempts(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	made := []object{}
	for attempt, err := range run.Attempts(ctx, told.text("step")) {
		if err != nil {
			return nil, err
		}
		one := object{
			"step": attempt.GetStep(), "claim_no": attempt.GetClaimNo(), "attempt": attempt.GetAttempt(),
			"outcome": nameOf(attempt.GetOutcome().String(), "OUTCOME_"), "charged": attempt.GetCharged(), "worker_id": attempt.GetWorkerId(),
		}
		if failure := attempt.GetFailure(); failure != nil {
			told := object{"type": failure.GetType(), "message": failure.GetMessage(), "non_retryable": failure.GetNonRetryable()}
			if err := put(told, "details", perdure.PayloadOf(failure.GetDetails())); err != nil {
				return nil, err
			}
			if failure.GetRetryAfter() != nil {
				told["retry_after_ms"] = failure.GetRetryAfter().AsDuration().Milliseconds()
			}
			one["failure"] = told
		}
		made = append(made, one)
	}
	return object{"attempts": made}, nil
}

// nameOf is an enum's name without its prefix; empty for unspecified.
func nameOf(name, prefix string) string {
	if name = strings.TrimPrefix(name, prefix); name == "UNSPECIFIED" {
		return ""
	}
	return name
}

func (d *driver) count(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(told)
	if err != nil {
		return nil, err
	}
	found, err := client.Count(ctx, filter)
	return object{"count": found.Count, "is_estimate": found.IsEstimate}, err
}

func (d *driver) explain(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	found, err := run.Explain(ctx, told.text("step"))
	if err != nil {
		return nil, err
	}
	steps := []object{}
	for _, step := range found.GetSteps() {
		kinds := []string{}
		for _, blocker := range step.GetBlockers() {
			kinds = append(kinds, kindOf(blocker))
		}
		steps = append(steps, object{
			"step": step.GetStep(), "state": nameOf(step.GetState().String(), "STATE_"),
			"phase": nameOf(step.GetPhase().String(), "PHASE_"), "blockers": kinds,
		})
	}
	return object{
		"state": nameOf(found.GetState().String(), "STATE_"), "phase": nameOf(found.GetPhase().String(), "PHASE_"), "steps": steps,
	}, nil
}

func kindOf(blocker *perdurev1.Blocker) string {
	message := blocker.ProtoReflect()
	field := message.WhichOneof(message.Descriptor().Oneofs().ByName("kind"))
	if field == nil {
		return ""
	}
	return string(field.Name())
}

func verbOptions(told *fields) []perdure.VerbOption {
	var made []perdure.VerbOption
	if told.has("reason") {
		made = append(made, perdure.Because(told.text("reason")))
	}
	if told.has("request_id") {
		made = append(made, perdure.RequestID(told.text("request_id")))
	}
	return made
}

func (d *driver) cancel(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	state, err := run.Cancel(ctx, verbOptions(told)...)
	return object{"state": state}, err
}

type verb func(*perdure.Run, context.Context, ...perdure.VerbOption) error

func (d *driver) change(ctx context.Context, told *fields, change verb) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	return nil, change(run, ctx, verbOptions(told)...)
}

func (d *driver) terminate(ctx context.Context, told *fields) (any, error) {
	return d.change(ctx, told, (*perdure.Run).Terminate)
}

func (d *driver) pause(ctx context.Context, told *fields) (any, error) {
	return d.change(ctx, told, (*perdure.Run).Pause)
}

func (d *driver) resume(ctx context.Context, told *fields) (any, error) {
	return d.change(ctx, told, (*perdure.Run).Resume)
}

func (d *driver) delete(ctx context.Context, told *fields) (any, error) {
	return d.change(ctx, told, (*perdure.Run).Delete)
}

func (d *driver) replay(ctx context.Context, told *fields) (any, error) {
	run, err := d.run(told)
	if err != nil {
		return nil, err
	}
	var reopen []string
	if err := told.read("reopen", &reopen); err != nil {
		return nil, err
	}
	steps, err := run.Replay(ctx, reopen, verbOptions(told)...)
	return object{"reopened_steps": orNone(steps)}, err
}

func (d *driver) apply(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	definition, err := definitionOf(told.text("definition"))
	if err != nil {
		return nil, err
	}
	var options []perdure.RegisterOption
	if told.flag("activate") {
		options = append(options, perdure.Activate())
	}
	if told.flag("update_policy") {
		options = append(options, perdure.UpdatePolicy())
	}
	return registeredOf(client.Definitions().Register(ctx, definition, options...))
}

func (d *driver) validate(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	definition, err := definitionOf(told.text("definition"))
	if err != nil {
		return nil, err
	}
	return registeredOf(client.Definitions().Validate(ctx, definition))
}
