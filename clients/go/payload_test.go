package perdure

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

func TestValuesTravelAsJSON(t *testing.T) {
	var nothing *int
	for _, test := range []struct {
		value any
		want  string
	}{
		{int64(math.MaxInt64), "9223372036854775807"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{"Grüße <&> 日本", `"Grüße <&> 日本"`},
		{json.RawMessage("null"), "null"},
		{json.Number("1.10"), "1.10"},
		{struct {
			A int `json:"a"`
		}{1}, `{"a":1}`},
		{nil, ""}, {nothing, ""}, {None{}, ""},
	} {
		payload, err := NewPayload(test.value)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := payload.JSON(); text != test.want || ok != (test.want != "") || payload.IsAbsent() != (test.want == "") {
			t.Errorf("%v travels as %q", test.value, text)
		}
	}
	if payload, _ := NewPayload([]byte{0, 255}); payload.IsAbsent() {
		t.Error("bytes do not travel")
	} else if bytes, ok := payload.Binary(); !ok || len(bytes) != 2 {
		t.Errorf("bytes travel as %v", payload)
	}
	for _, value := range []any{math.NaN(), math.Inf(1), func() {}, make(chan int)} {
		if _, err := NewPayload(value); ReasonOf(err) != ReasonPayloadInvalid {
			t.Errorf("%T travels (%v)", value, err)
		}
	}
}

func TestIntegersOf64BitsSurviveInAnyType(t *testing.T) {
	for _, text := range []string{"9223372036854775807", "-9223372036854775808", "18446744073709551615"} {
		found, err := Decode[any](JSON(text))
		if err != nil || found != json.Number(text) {
			t.Errorf("%s is %v (%v)", text, found, err)
		}
	}
	if found, err := Decode[map[string]any](JSON(`{"a":[9007199254740993]}`)); err != nil || found["a"].([]any)[0] != json.Number("9007199254740993") {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := Decode[int64](JSON("9223372036854775807")); err != nil || found != math.MaxInt64 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := Decode[int64](JSON("9223372036854775808")); ReasonOf(err) != ReasonPayloadInvalid {
		t.Errorf("too large: %v", err)
	}
}

func TestNoValueDiffersFromNull(t *testing.T) {
	if _, err := Decode[string](Payload{}); ReasonOf(err) != ReasonPayloadInvalid {
		t.Errorf("no value is a string: %v", err)
	}
	if found, err := Decode[*string](Payload{}); err != nil || found != nil {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := Decode[Payload](JSON("null")); err != nil || found.IsAbsent() {
		t.Errorf("null is no value: %v, %v", found, err)
	}
	if found, err := Decode[Payload](Payload{}); err != nil || !found.IsAbsent() {
		t.Errorf("no value is one: %v, %v", found, err)
	}
}

func TestOtherTypesAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"binary as string": second(Decode[string](Binary([]byte("x"), ""))),
		"JSON as bytes":    second(Decode[[]byte](JSON(`"eA=="`))),
		"text as number":   second(Decode[int](JSON(`"x"`))),
		"two values":       second(Decode[int](JSON(`1 2`))),
		"a ref":            second(Decode[any](PayloadOf(&perdurev1.Payload{Data: &perdurev1.Payload_Ref{Ref: &perdurev1.PayloadRef{}}}))),
	} {
		if ReasonOf(err) != ReasonPayloadInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	encoded := PayloadOf(&perdurev1.Payload{Data: &perdurev1.Payload_Binary{Binary: []byte("x")}, Encoding: "rot13"})
	var undecodable *Undecodable
	if err := second(Decode[[]byte](encoded)); !errors.As(err, &undecodable) || undecodable.Cause != "encoding_unknown" {
		t.Errorf("of another codec: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

type inputs struct {
	Input     string
	LineItems []int
	HTTPCode  *int
	Choice    Woken[int]
	Risky     Try[string]
	Renamed   string   `perdure:"other"`
	Ignored   chan int `perdure:"-"`
}

func TestInputsAreFilledByTheNamesOfFields(t *testing.T) {
	served := Serve("job", "work", func(_ Context, in inputs) (inputs, error) { return in, nil })
	claim := &perdurev1.Claim{
		Inputs: map[string]*perdurev1.Payload{
			"input": JSON(`"a"`).Message(), "line_items": JSON(`[1,2]`).Message(), "other": JSON(`"b"`).Message(),
			"choice": {ContentType: waitResultType, Data: &perdurev1.Payload_Json{
				Json: `{"condition":"choose","wakes":[{"condition":"choose","signalId":"click-7","payload":{"json":"1"},"signalName":"choose"}]}`,
			}},
		},
		FailedInputs: map[string]*perdurev1.Failure{"risky": {Type: "a.b"}},
	}
	found, err := served.invoke(Context{}, claim)
	if err != nil {
		t.Fatal(err)
	}
	in := found.(inputs)
	if value, ok := in.Choice.Value(); in.Input != "a" || len(in.LineItems) != 2 || in.HTTPCode != nil || !ok || value != 1 || in.Choice.TimedOut() ||
		in.Risky.Failure.Type != "a.b" || in.Renamed != "b" {
		t.Errorf("the inputs are %+v", in)
	}
	delete(claim.Inputs, "input")
	if _, err := served.invoke(Context{}, claim); ReasonOf(err) != ReasonPayloadInvalid || !strings.HasPrefix(err.Error(), "input input: ") {
		t.Errorf("of a missing input it says %v", err)
	}
	hidden := Serve("job", "work", func(_ Context, in struct{ input string }) (None, error) { return None{}, nil })
	if hidden.fault == nil {
		t.Error("a field that is not exported is taken")
	}
}

func TestFailureTypes(t *testing.T) {
	for want, err := range map[string]error{
		"json.SyntaxError":    second(Decode[int](JSON("x"))).(*Error).cause,
		"perdure.CLAIM_LOST":  claimLost("EXPIRED"),
		"error":               errors.New("x"),
		"panic":               &panicked{value: "x"},
		"perdure.UNAVAILABLE": &Error{Code: 14},
	} {
		if found := failureType(err); found != want {
			t.Errorf("%v is of type %q, not %q", err, found, want)
		}
	}
}
