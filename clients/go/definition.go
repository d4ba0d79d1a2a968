package perdure

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

var stepNames = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// LoadDefinition reads a definition file, as `perdure definitions apply` takes it; see [ParseDefinition].
func LoadDefinition(path string) (*perdurev1.Definition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseDefinition(text)
}

// ParseDefinition reads a definition in YAML, the same in all languages:
//
//	workflow_type: note
//	version: "1"
//	steps:
//	  transcribe:
//	    needs: [input]
//	    attempt_timeout: 2m
//	    permits: {asr: 1}
//	  choice:
//	    after: [transcribe]
//	    wait: {any_of: [{signal: choose}, {after: 3d}]}
//	  publish: {needs: [transcribe, choice]}
//
// What can be known without a server is checked; the error's violations name every fault with its place. Fingerprint and
// contracts come from the server ([Definitions.Validate]).
func ParseDefinition(text []byte) (*perdurev1.Definition, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, invalid(ReasonDefinitionInvalid, "not YAML: %v", err)
	}
	reader := &fieldReader{}
	definition := reader.definition(rootOf(&document))
	if len(reader.faults) == 0 {
		checkStructure(definition, reader.fault)
	}
	if count := len(reader.faults); count > 0 {
		fault := invalid(ReasonDefinitionInvalid, "the definition has %d fault(s)", count)
		fault.Violations = reader.faults
		return nil, fault
	}
	return definition, nil
}

func rootOf(document *yaml.Node) *yaml.Node {
	if document.Kind == yaml.DocumentNode && len(document.Content) > 0 {
		return document.Content[0]
	}
	return nil
}

var (
	topKeys    = []string{"workflow_type", "version", "description", "output", "policy", "steps", "hooks"}
	policyKeys = []string{"workflow_timeout", "cancel_grace", "max_lost_claims", "retention"}
	hookKeys   = []string{"on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay"}
	stepKeys   = []string{
		"needs", "after", "wait", "retry", "queue", "priority", "on_exhausted", "permits", "version", "description", "branches",
		"compensate_with", "attempt_timeout", "silence_timeout", "step_timeout", "queue_timeout", "map", "pages", "child",
		"max_in_flight", "parent_close",
	}
	retryKeys = []string{
		"max_attempts", "unlimited", "initial_interval", "backoff_coefficient", "max_interval", "jitter", "non_retryable",
	}
	waitKeys      = []string{"wait", "after", "version", "description", "branches", "compensate_with"}
	onExhausted   = []string{"fail_workflow", "hold", "skip_dependants", "continue"}
	parentCloses  = []string{"cancel", "terminate", "abandon"}
	conditionKeys = []string{"signal", "count", "after", "at", "name", "choose"}
)

func (r *fieldReader) definition(document *yaml.Node) *perdurev1.Definition {
	top := r.mapping("", document, topKeys)
	made := &perdurev1.Definition{
		WorkflowType: r.text("workflow_type", top.get("workflow_type")),
		Version:      r.text("version", top.get("version")),
		Description:  r.text("description", top.get("description")),
		OutputStep:   r.text("output", top.get("output")),
		Policy:       &perdurev1.WorkflowPolicy{},
	}
	policy := r.mapping("policy", top.get("policy"), policyKeys)
	made.Policy.WorkflowTimeout = r.duration("policy.workflow_timeout", policy.get("workflow_timeout"))
	made.Policy.CancelGrace = r.duration("policy.cancel_grace", policy.get("cancel_grace"))
	made.Policy.Retention = r.duration("policy.retention", policy.get("retention"))
	made.Policy.MaxLostClaims = r.integer("policy.max_lost_claims", policy.get("max_lost_claims"))
	for _, step := range r.mapping("steps", top.get("steps"), nil) {
		path := "steps." + step.name
		made.Steps = append(made.Steps, r.step(path, step.name, r.mapping(path, step.value, stepKeys)))
	}
	if hooks := r.mapping("hooks", top.get("hooks"), hookKeys); len(hooks) > 0 {
		made.Hooks = &perdurev1.Hooks{
			OnSuccess: r.hook(hooks, "on_success"), FailureFinalizer: r.hook(hooks, "failure_finalizer"),
			CancelFinalizer: r.hook(hooks, "cancel_finalizer"), PrepareReplay: r.hook(hooks, "prepare_replay"),
		}
	}
	return made
}

func (r *fieldReader) hook(hooks fields, kind string) *perdurev1.Hook {
	value := hooks.get(kind)
	if value == nil {
		return nil
	}
	path := "hooks." + kind
	if value.Kind == yaml.ScalarNode {
		return &perdurev1.Hook{Step: r.text(path, value)}
	}
	told := r.mapping(path, value, []string{"step", "required"})
	made := &perdurev1.Hook{Step: r.text(path+".step", told.get("step"))}
	required := true
	if told.get("required") != nil {
		required = r.flag(path+".required", told.get("required"))
	}
	made.Required = &required
	return made
}

func (r *fieldReader) step(path, name string, told fields) *perdurev1.StepDefinition {
	made := &perdurev1.StepDefinition{
		Name: name, Version: r.text(path+".version", told.get("version")),
		Description:    r.text(path+".description", told.get("description")),
		CompensateWith: r.text(path+".compensate_with", told.get("compensate_with")),
	}
	for _, branch := range r.mapping(path+".branches", told.get("branches"), nil) {
		steps := r.names(path+".branches."+branch.name, branch.value)
		made.Branches = append(made.Branches, &perdurev1.Branch{Name: branch.name, Steps: steps})
	}
	needs, after := r.names(path+".needs", told.get("needs")), r.names(path+".after", told.get("after"))
	if told.get("needs") != nil || told.get("wait") != nil {
		made.Needs = &perdurev1.Needs{Names: needs}
	}
	for _, dependency := range append(slices.Clone(needs), after...) {
		if (dependency != "input" || slices.Contains(after, dependency)) && !slices.Contains(made.DependsOn, dependency) {
			made.DependsOn = append(made.DependsOn, dependency)
		}
	}
	if wait := told.get("wait"); wait != nil {
		for _, field := range told {
			if !slices.Contains(waitKeys, field.name) {
				r.fault(path+"."+field.name, "does not belong to a step that waits")
			}
		}
		made.Kind = &perdurev1.StepDefinition_Wait{Wait: &perdurev1.WaitStep{Wait: r.wait(path+".wait", wait)}}
		return made
	}
	made.Kind = &perdurev1.StepDefinition_Activity{Activity: &perdurev1.ActivityStep{}}
	made.Policy = &perdurev1.StepPolicy{}
	r.children(path, told, made)
	r.policy(path, told, made.Policy)
	return made
}

func (r *fieldReader) wait(path string, value *yaml.Node) *perdurev1.Wait {
	made := &perdurev1.Wait{}
	told := r.mapping(path, value, append([]string{"any_of"}, conditionKeys...))
	conditions := []*yaml.Node{value}
	if list := told.get("any_of"); list != nil {
		conditions = r.items(list)
		for _, field := range told {
			if field.name != "any_of" {
				r.fault(path+"."+field.name, "does not belong beside `any_of`: put it into one of the conditions")
			}
		}
	}
	for index, item := range conditions {
		place := fmt.Sprintf("%s.any_of[%d]", path, index)
		made.AnyOf = append(made.AnyOf, r.condition(place, r.mapping(place, item, conditionKeys)))
	}
	return made
}

func (r *fieldReader) condition(place string, told fields) *perdurev1.WaitCondition {
	made := &perdurev1.WaitCondition{
		Name: r.text(place+".name", told.get("name")), Choose: r.names(place+".choose", told.get("choose")),
	}
	signal, after, at := told.get("signal"), told.get("after"), told.get("at")
	kinds := 0
	for _, kind := range []*yaml.Node{signal, after, at} {
		if kind != nil {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		r.fault(place, "is one of: `signal`, `after` (a duration), `at` (a time)")
	case told.get("count") != nil && signal == nil:
		r.fault(place+".count", "counts signals, and this condition waits for none")
	case signal != nil:
		count := int32(1)
		if given := r.integer(place+".count", told.get("count")); given != nil && *given != 0 {
			count = *given
		}
		name := r.text(place+".signal", signal)
		made.Kind = &perdurev1.WaitCondition_Signal{Signal: &perdurev1.SignalCondition{SignalName: name, Count: count}}
	case after != nil:
		if duration := r.duration(place+".after", after); duration != nil {
			made.Kind = &perdurev1.WaitCondition_After{After: duration}
		}
	default:
		if time := r.time(place+".at", at); time != nil {
			made.Kind = &perdurev1.WaitCondition_AtTime{AtTime: time}
		}
	}
	return made
}

func (r *fieldReader) policy(path string, told fields, to *perdurev1.StepPolicy) {
	to.Queue = r.text(path+".queue", told.get("queue"))
	to.Priority = r.integer(path+".priority", told.get("priority"))
	to.AttemptTimeout = r.duration(path+".attempt_timeout", told.get("attempt_timeout"))
	to.SilenceTimeout = r.duration(path+".silence_timeout", told.get("silence_timeout"))
	to.StepTimeout = r.duration(path+".step_timeout", told.get("step_timeout"))
	to.QueueTimeout = r.duration(path+".queue_timeout", told.get("queue_timeout"))
	if retry := told.get("retry"); retry != nil {
		to.Retry = r.retry(path+".retry", r.mapping(path+".retry", retry, retryKeys))
	}
	if exhausted := r.text(path+".on_exhausted", told.get("on_exhausted")); exhausted != "" {
		if !slices.Contains(onExhausted, exhausted) {
			r.fault(path+".on_exhausted", "is one of "+strings.Join(onExhausted, ", "))
		}
		to.OnExhausted = perdurev1.StepPolicy_OnExhausted(perdurev1.StepPolicy_OnExhausted_value["ON_EXHAUSTED_"+strings.ToUpper(exhausted)])
	}
	for _, permit := range r.mapping(path+".permits", told.get("permits"), nil) {
		units := int32(1)
		if given := r.integer(path+".permits."+permit.name, permit.value); given != nil && *given != 0 {
			units = *given
		}
		to.Permits = append(to.Permits, &perdurev1.PermitRequirement{Resource: permit.name, Units: units})
	}
}

func (r *fieldReader) retry(path string, told fields) *perdurev1.RetryPolicy {
	made := &perdurev1.RetryPolicy{
		InitialInterval: r.duration(path+".initial_interval", told.get("initial_interval")),
		MaxInterval:     r.duration(path+".max_interval", told.get("max_interval")),
		Jitter:          r.number(path+".jitter", told.get("jitter")), BackoffCoefficient: r.number(path+".backoff_coefficient", told.get("backoff_coefficient")),
		NonRetryableTypes: r.names(path+".non_retryable", told.get("non_retryable")),
	}
	attempts := r.integer(path+".max_attempts", told.get("max_attempts"))
	unlimited := told.get("unlimited") != nil && r.flag(path+".unlimited", told.get("unlimited"))
	switch {
	case attempts != nil && unlimited:
		r.fault(path, "give max_attempts or unlimited, not both")
	case attempts != nil:
		made.Attempts = &perdurev1.RetryPolicy_MaxAttempts{MaxAttempts: *attempts}
	case unlimited:
		made.Attempts = &perdurev1.RetryPolicy_Unlimited{Unlimited: true}
	}
	return made
}

// children fills in what a map, paging or child step says of its children.
func (r *fieldReader) children(path string, told fields, step *perdurev1.StepDefinition) {
	var kinds []string
	for _, kind := range []string{"map", "pages", "child"} {
		if told.get(kind) != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		r.fault(path, "is one of: `"+strings.Join(kinds, "`, `")+"`")
		return
	}
	if len(kinds) == 1 {
		r.childKind(path+"."+kinds[0], kinds[0], told.get(kinds[0]), step)
	}
	for _, key := range []string{"max_in_flight", "parent_close"} {
		if told.get(key) != nil && len(kinds) == 0 {
			r.fault(path+"."+key, "belongs to a step with `map`, `pages` or `child`")
		}
	}
	step.Policy.MaxInFlight = r.integer(path+".max_in_flight", told.get("max_in_flight"))
	if parentClose := r.text(path+".parent_close", told.get("parent_close")); parentClose != "" {
		if !slices.Contains(parentCloses, parentClose) {
			r.fault(path+".parent_close", "is one of "+strings.Join(parentCloses, ", "))
		}
		value := perdurev1.StepPolicy_ParentClosePolicy_value["PARENT_CLOSE_POLICY_"+strings.ToUpper(parentClose)]
		step.Policy.ParentClose = perdurev1.StepPolicy_ParentClosePolicy(value)
	}
}

func (r *fieldReader) childKind(path, kind string, value *yaml.Node, step *perdurev1.StepDefinition) {
	switch kind {
	case "child":
		told := r.mapping(path, value, []string{"workflow", "input"})
		step.Kind = &perdurev1.StepDefinition_Child{Child: &perdurev1.ChildStep{
			ChildWorkflowType: r.text(path+".workflow", told.get("workflow")), InputFrom: r.text(path+".input", told.get("input")),
		}}
	case "pages":
		made := r.join(path, r.mapping(path, value, []string{"workflow", "join"}))
		made.Source = &perdurev1.MapStep_Paged{Paged: &perdurev1.PagedSource{}}
		step.Kind = &perdurev1.StepDefinition_Map{Map: made}
	default:
		told := r.mapping(path, value, []string{"workflow", "items", "join"})
		made := r.join(path, told)
		made.Source = &perdurev1.MapStep_ItemsFrom{ItemsFrom: firstOf(r.text(path+".items", told.get("items")), "input")}
		step.Kind = &perdurev1.StepDefinition_Map{Map: made}
	}
}

func (r *fieldReader) join(path string, told fields) *perdurev1.MapStep {
	made := &perdurev1.MapStep{
		ChildWorkflowType: r.text(path+".workflow", told.get("workflow")), Join: perdurev1.MapStep_JOIN_ALL,
	}
	value := told.get("join")
	switch {
	case value == nil:
	case value.Tag == "!!int":
		if count := r.integer(path+".join", value); count != nil {
			made.Join, made.RequiredCount = perdurev1.MapStep_JOIN_N_OF_M, *count
		}
	case slices.Contains([]string{"all", "any", "best_effort"}, value.Value):
		made.Join = perdurev1.MapStep_Join(perdurev1.MapStep_Join_value["JOIN_"+strings.ToUpper(value.Value)])
	default:
		r.fault(path+".join", "is one of all, any, best_effort, or how many must complete")
	}
	return made
}

// checkStructure is what can be known without a server: names, dependencies, cycles.
func checkStructure(definition *perdurev1.Definition, report func(path, text string)) {
	steps := map[string]*perdurev1.StepDefinition{}
	var names []string
	for _, step := range definition.GetSteps() {
		steps[step.GetName()] = step
		names = append(names, step.GetName())
	}
	if definition.GetWorkflowType() == "" {
		report("workflow_type", "is missing")
	}
	if len(steps) == 0 {
		report("steps", "is empty: a definition has at least one step")
	}
	if output := definition.GetOutputStep(); output != "" && steps[output] == nil {
		report("output", fmt.Sprintf("names no step: %q", output))
	}
	for _, name := range names {
		if !stepNames.MatchString(name) || name == "input" {
			report("steps."+name, "a step's name must match [a-z][a-z0-9_]{0,62} and not be `input`")
		}
		for _, dependency := range steps[name].GetDependsOn() {
			if steps[dependency] == nil {
				report("steps."+name, fmt.Sprintf("depends on %q, which is no step; there are %s", dependency, strings.Join(names, ", ")))
			}
		}
	}
	if cycle := findCycle(names, steps); cycle != nil {
		report("steps", "depend on each other in a circle: "+strings.Join(cycle, " -> "))
	}
}

// findCycle is the first circle of dependencies, closed by its first name again; nil: there is none.
func findCycle(names []string, steps map[string]*perdurev1.StepDefinition) []string {
	done := map[string]bool{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		if at := slices.Index(path, name); at >= 0 {
			return append(slices.Clone(path[at:]), name)
		}
		if done[name] || steps[name] == nil {
			return nil
		}
		path = append(path, name)
		for _, dependency := range steps[name].GetDependsOn() {
			if cycle := visit(dependency); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		done[name] = true
		return nil
	}
	for _, name := range names {
		if cycle := visit(name); cycle != nil {
			return cycle
		}
	}
	return nil
}
