package perdure

import (
	"errors"
	"strings"
	"testing"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

const everything = `
workflow_type: note
version: "1"
description: A note from a recording
output: publish
policy: {workflow_timeout: 7d, cancel_grace: 30s, max_lost_claims: 5, retention: 30d}
steps:
  transcribe:
    needs: [input]
    attempt_timeout: 2m
    retry: {max_attempts: 4, initial_interval: 1s, backoff_coefficient: 2, max_interval: 1m, jitter: 0.2, non_retryable: [asr.quota]}
    queue: default
    priority: 5
    on_exhausted: hold
    permits: {asr: 1}
    version: "2"
    compensate_with: discard
  compose:
    needs: [transcribe]
    branches: {long: [publish]}
  choice:
    after: [compose]
    wait:
      any_of: [{signal: choose, count: 2}, {after: 1h30m}, {at: 2030-01-01T00:00:00Z, name: late}]
  publish:
    needs: [compose, choice]
  notify:
    needs: [compose]
    map: {workflow: notice, items: compose, join: 3}
    max_in_flight: 100
    parent_close: abandon
  crawl:
    pages: {workflow: page, join: best_effort}
  archive:
    needs: [notify]
    child: {workflow: archive, input: notify}
  discard:
  tell: {needs: [input]}
hooks: {failure_finalizer: tell, on_success: {step: discard, required: false}}
`

func TestADefinitionFileIsReadAsInAllLanguages(t *testing.T) {
	definition, err := ParseDefinition([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]*perdurev1.StepDefinition{}
	for _, step := range definition.GetSteps() {
		steps[step.GetName()] = step
	}
	policy := steps["transcribe"].GetPolicy()
	conditions := steps["choice"].GetWait().GetWait().GetAnyOf()
	for what, holds := range map[string]bool{
		"top":        definition.GetOutputStep() == "publish" && definition.GetPolicy().GetWorkflowTimeout().GetSeconds() == 7*86_400,
		"order":      definition.GetSteps()[0].GetName() == "transcribe" && len(definition.GetSteps()) == 9,
		"retry":      policy.GetRetry().GetMaxAttempts() == 4 && policy.GetRetry().GetJitter() == 0.2 && policy.GetRetry().GetNonRetryableTypes()[0] == "asr.quota",
		"policy":     policy.GetOnExhausted() == perdurev1.StepPolicy_ON_EXHAUSTED_HOLD && policy.GetPermits()[0].GetResource() == "asr" && policy.GetPriority() == 5,
		"needs":      steps["transcribe"].GetNeeds().GetNames()[0] == "input" && len(steps["transcribe"].GetDependsOn()) == 0,
		"depends":    strings.Join(steps["publish"].GetDependsOn(), " ") == "compose choice",
		"signal":     conditions[0].GetSignal().GetCount() == 2,
		"after":      conditions[1].GetAfter().GetSeconds() == 5_400,
		"at":         conditions[2].GetAtTime().GetSeconds() == 1_893_456_000 && conditions[2].GetName() == "late",
		"no needs":   steps["discard"].GetNeeds() == nil && steps["choice"].GetNeeds() != nil,
		"branches":   steps["compose"].GetBranches()[0].GetSteps()[0] == "publish",
		"map":        steps["notify"].GetMap().GetRequiredCount() == 3 && steps["notify"].GetMap().GetItemsFrom() == "compose",
		"in flight":  steps["notify"].GetPolicy().GetMaxInFlight() == 100,
		"close":      steps["notify"].GetPolicy().GetParentClose() == perdurev1.StepPolicy_PARENT_CLOSE_POLICY_ABANDON,
		"pages":      steps["crawl"].GetMap().GetPaged() != nil && steps["crawl"].GetMap().GetJoin() == perdurev1.MapStep_JOIN_BEST_EFFORT,
		"child":      steps["archive"].GetChild().GetInputFrom() == "notify",
		"hooks":      definition.GetHooks().GetFailureFinalizer().GetStep() == "tell" && !definition.GetHooks().GetOnSuccess().GetRequired(),
		"compensate": steps["transcribe"].GetCompensateWith() == "discard",
	} {
		if !holds {
			t.Errorf("%s is read wrongly", what)
		}
	}
}

func TestEveryFaultOfADefinitionFileIsNamedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"steps: {a: }": "workflow_type: is missing",
		"workflow_type: x\nsteps: {a: {after: [b]}}":                                `steps.a: depends on "b"`,
		"workflow_type: x\nsteps: {A: }":                                            "steps.A: a step's name must match",
		"workflow_type: x\nversion: 1.10\nsteps: {a: }":                             "version: must be text, not 1.10: quote it",
		"workflow_type: x\nsteps: {a: {wrong: 1}}":                                  "steps.a.wrong: is not known",
		"workflow_type: x\nsteps: {a: , a: }":                                       "the key 'a' is given twice",
		"workflow_type: x\nsteps: {a: {attempt_timeout: 3}}":                        "steps.a.attempt_timeout: must be a duration",
		"workflow_type: x\nsteps: {a: {attempt_timeout: 3x}}":                       `"3x" is no duration`,
		"workflow_type: x\nsteps: {a: {wait: {signal: s}, retry: {}}}":              "steps.a.retry: does not belong",
		"workflow_type: x\nsteps: {a: {wait: {any_of: [{}]}}}":                      "steps.a.wait.any_of[0]: is one of",
		"workflow_type: x\nsteps: {a: {after: [b]}, b: {after: [a]}}":               "in a circle: a -> b -> a",
		"workflow_type: x\nsteps: {a: {retry: {max_attempts: 1, unlimited: true}}}": "not both",
		"workflow_type: x\nsteps: {}":                                               "steps: is empty",
		"[]":                                                                        "must be a mapping, not a list",
		"a: [":                                                                      "not YAML",
	} {
		_, err := ParseDefinition([]byte(text))
		var fault *Error
		if !errors.As(err, &fault) || fault.Reason != ReasonDefinitionInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: instead of %q it says %v", text, want, err)
		}
	}
}
