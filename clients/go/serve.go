package perdure

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Served is a step that a worker runs; made by [Serve], given to [Client.Worker].
type Served struct {
	workflowType, step string
	slots              int
	queue              string
	contract           string
	invoke             func(ctx Context, claim *perdurev1.Claim) (any, error)
	fault              error
}

// Serve makes one step of a workflow type runnable by a function of this program.
//
// In is a struct whose fields name what the step needs: `input` is the workflow's own input, every other name that of an
// earlier step. The field Input means `input`, a field LineItems means `line_items`; a tag `perdure:"name"` says otherwise.
// The output of a wait step is a [Woken]; [Try] takes a failed step's failure instead of its output, where the definition goes
// on after one. An In of [Inputs] gets everything as it travels.
//
// Out is what dependants get: any JSON value, []byte, [Payload], [None], [Chosen] for a step with branches, or [Page] for one
// that brings the items of a map step. The function may also return a [Wait] or a [Failure] as its error.
//
// The step's contract is that of [Contract] or [Contracts], else of a definition given to the worker by [Offer] or [Register], else of the
// type's active definition when the worker begins. A claim of another contract is never run.
func Serve[In, Out any](workflowType, step string, activity func(Context, In) (Out, error), options ...ServeOption) *Served {
	made := &Served{workflowType: workflowType, step: step}
	fields, err := fieldsOf(reflect.TypeFor[In]())
	if err != nil {
		made.fault = fmt.Errorf("perdure.Serve(%q, %q): %w", workflowType, step, err)
	}
	made.invoke = func(ctx Context, claim *perdurev1.Claim) (any, error) {
		var in In
		if err := fillInputs(reflect.ValueOf(&in).Elem(), fields, claim); err != nil {
			return nil, err
		}
		return activity(ctx, in)
	}
	for _, option := range options {
		option.applyToServed(made)
	}
	return made
}

// ServeOption says how a step is served.
type ServeOption interface{ applyToServed(*Served) }

type serveOption func(*Served)

func (o serveOption) applyToServed(to *Served) { o(to) }

// Slots is how many activities run at once. Of [Serve]: of this step, in a pool of its own. Of [Client.Worker]: of all steps
// of a type and queue that have no number of their own. Default: 100.
func Slots(count int) SlotsOption { return SlotsOption(count) }

// SlotsOption is made by [Slots].
type SlotsOption int

func (o SlotsOption) applyToServed(to *Served) {
	to.slots = int(o)
	if o < 1 {
		to.fault = fmt.Errorf("perdure.Serve(%q, %q): Slots: a pool needs at least 1 slot, not %d", to.workflowType, to.step, o)
	}
}

func (o QueueOption) applyToServed(to *Served) { to.queue = string(o) }

// Contract is the step contract that this code was built for, in hex, as `perdure definitions generate` writes it down.
func Contract(contract string) ServeOption {
	return serveOption(func(to *Served) { to.contract = contract })
}

// Inputs are all that a step needs, as it travels, by name.
type Inputs map[string]Payload

// Try is an input whose step may have failed, where the definition goes on after that.
type Try[T any] struct {
	// Value is the output, if the step completed.
	Value T
	// Failure is why it failed. Nil: it completed.
	Failure *Failure
}

func (t *Try[T]) fillTry(name string, payload *perdurev1.Payload, failure *perdurev1.Failure) error {
	if failure != nil {
		t.Failure = failureOf(failure)
		return nil
	}
	return decodeInput(name, payload, reflect.ValueOf(&t.Value).Elem())
}

type tryFiller interface {
	fillTry(name string, payload *perdurev1.Payload, failure *perdurev1.Failure) error
}

// Chosen is the output of a step with branches: those that are taken, and what dependants get. Steps on the others are SKIPPED.
type Chosen[T any] struct {
	Branches []string
	Output   T
}

// Choose takes one branch or several.
func Choose[T any](output T, branches ...string) Chosen[T] { return Chosen[T]{branches, output} }

func (c Chosen[T]) chosen() ([]string, any) { return c.Branches, c.Output }

type chooser interface{ chosen() ([]string, any) }

// Page is the output of a step that brings the items of a map step: inputs of the next children, and where the page after it
// begins.
type Page struct {
	// Children are their inputs, in order; at most 1,000.
	Children []any
	// Cursor is what the next claim of the step finds by [Cursor]. Nil: this was the last page.
	Cursor any
}

// MapError is a child that failed.
type MapError struct {
	// Index is which item, from 0.
	Index   int64
	Ref     Ref
	Failure *Failure
}

// MapResult is the output of a map step: how its children ended.
type MapResult struct {
	Total, Open, Completed, Failed, Cancelled int64
	// Errors are the first 20 children that failed, by index.
	Errors []MapError
}

// UnmarshalJSON reads the canonical form that the server makes.
func (m *MapResult) UnmarshalJSON(text []byte) error {
	found := &perdurev1.MapResult{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, found); err != nil {
		return fmt.Errorf("not the result of a map step: %w", err)
	}
	progress := found.GetProgress()
	*m = MapResult{
		Total: progress.GetTotalCount(), Open: progress.GetOpenCount(), Completed: progress.GetCompletedCount(),
		Failed: progress.GetFailedCount(), Cancelled: progress.GetCancelledCount(),
	}
	for _, failed := range found.GetErrors() {
		m.Errors = append(m.Errors, MapError{failed.GetIndex(), refOf(failed.GetWorkflow()), failureOf(failed.GetFailure())})
	}
	return nil
}

// inputField is one field of an In.
type inputField struct {
	index int
	name  string
}

var inputsType = reflect.TypeFor[Inputs]()

func fieldsOf(in reflect.Type) ([]inputField, error) {
	if in == inputsType || in == noneType {
		return nil, nil
	}
	if in.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the inputs must be a struct whose fields name what the step needs, perdure.Inputs or perdure.None, not %s", in)
	}
	var fields []inputField
	for index := range in.NumField() {
		field := in.Field(index)
		name := field.Tag.Get("perdure")
		if name == "-" {
			continue
		}
		if !field.IsExported() {
			return nil, fmt.Errorf("the field %s of %s is not exported, so nothing can be read into it", field.Name, in)
		}
		fields = append(fields, inputField{index, firstOf(name, snake(field.Name))})
	}
	return fields, nil
}

// snake is LineItems as line_items, and HTTPCode as http_code.
func snake(name string) string {
	letters := []rune(name)
	var made strings.Builder
	for index, letter := range letters {
		beginsWord := index > 0 && unicode.IsUpper(letter) &&
			(!unicode.IsUpper(letters[index-1]) || (index+1 < len(letters) && unicode.IsLower(letters[index+1])))
		if beginsWord && letters[index-1] != '_' {
			made.WriteByte('_')
		}
		made.WriteRune(unicode.ToLower(letter))
	}
	return made.String()
}

func fillInputs(in reflect.Value, fields []inputField, claim *perdurev1.Claim) error {
	if in.Type() == inputsType {
		all := Inputs{}
		for name, payload := range claim.GetInputs() {
			all[name] = PayloadOf(payload)
		}
		in.Set(reflect.ValueOf(all))
		return nil
	}
	for _, field := range fields {
		if err := fillInput(in.Field(field.index), field.name, claim); err != nil {
			return err
		}
	}
	return nil
}

func fillInput(target reflect.Value, name string, claim *perdurev1.Claim) error {
	payload, failure := claim.GetInputs()[name], claim.GetFailedInputs()[name]
	if try, ok := target.Addr().Interface().(tryFiller); ok {
		return try.fillTry(name, payload, failure)
	}
	if failure != nil {
		return invalid(ReasonPayloadInvalid, "input %s failed (%s); take it as a perdure.Try to go on after that", name, failureOf(failure))
	}
	return decodeInput(name, payload, target)
}

func decodeInput(name string, payload *perdurev1.Payload, target reflect.Value) error {
	woken, ok := target.Addr().Interface().(wokenFiller)
	if !ok {
		return within("input "+name, decodeInto(payload, target))
	}
	if payload == nil {
		return invalid(ReasonPayloadInvalid, "input %s: there is no output of a wait", name)
	}
	result, err := parseWaitResult(payload)
	if err == nil {
		err = woken.fill(result.GetCondition(), result.GetWakes())
	}
	return within("input "+name, err)
}

// within says of a value's error which value it is.
func within(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// resultOf is what a step returned: an output, a choice, or a page.
func resultOf(value any) (*perdurev1.Result, error) {
	if page, ok := value.(Page); ok {
		return pageOf(page)
	}
	completed := &perdurev1.Completed{}
	if choice, ok := value.(chooser); ok {
		completed.Choose, value = choice.chosen()
	}
	var err error
	if completed.Output, err = encode(value); err != nil {
		return nil, within("the output", err)
	}
	return &perdurev1.Result{Outcome: &perdurev1.Result_Completed{Completed: completed}}, nil
}

func pageOf(page Page) (*perdurev1.Result, error) {
	made := &perdurev1.MapPage{}
	for index, child := range page.Children {
		payload, err := encode(child)
		if err != nil {
			return nil, within(fmt.Sprintf("child %d of the page", index), err)
		}
		made.Children = append(made.Children, orNoValue(payload))
	}
	var err error
	if made.Cursor, err = encode(page.Cursor); err != nil {
		return nil, within("the page's cursor", err)
	}
	return &perdurev1.Result{Outcome: &perdurev1.Result_Page{Page: made}}, nil
}

func waitingOf(wait *Wait) (*perdurev1.Result, error) {
	waiting := &perdurev1.Waiting{Wait: wait.Message()}
	if wait.checkpoint != nil {
		payload, err := encode(*wait.checkpoint)
		if err != nil {
			return nil, within("the checkpoint", err)
		}
		waiting.Checkpoint = orNoValue(payload)
	}
	return &perdurev1.Result{Outcome: &perdurev1.Result_Waiting{Waiting: waiting}}, nil
}

func failedOf(err error) *perdurev1.Result {
	return &perdurev1.Result{Outcome: &perdurev1.Result_Failed{Failed: failureMessage(err)}}
}
