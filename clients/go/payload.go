package perdure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Payload is a value as it travels. Take an input as a Payload, or return one, to do without any conversion: it tells JSON
// `null` from no value at all, keeps the text of the JSON, and carries content type and encoding.
//
// Everything else becomes JSON by encoding/json, but for []byte, which travels as it is, and for nil and nil pointers, which
// are "no value". JSON read into an `any` has its numbers as [json.Number], so that 64-bit integers survive.
type Payload struct {
	message *perdurev1.Payload
}

// JSON is the payload of a JSON text, kept as it is written.
func JSON(text string) Payload {
	return Payload{&perdurev1.Payload{Data: &perdurev1.Payload_Json{Json: text}}}
}

// Binary is the payload of bytes; contentType may be empty.
func Binary(value []byte, contentType string) Payload {
	return Payload{&perdurev1.Payload{Data: &perdurev1.Payload_Binary{Binary: value}, ContentType: contentType}}
}

// PayloadOf is the payload of the wire's message; nil: no value.
func PayloadOf(message *perdurev1.Payload) Payload { return Payload{message} }

// NewPayload is the payload of a value, as a step's output would be made.
func NewPayload(value any) (Payload, error) {
	message, err := encode(value)
	return Payload{message}, err
}

// IsAbsent is whether there is no value. JSON `null` is one.
func (p Payload) IsAbsent() bool { return p.message.GetData() == nil }

// IsRef is whether the value was too large to travel along; [Run.Fetch] reads it. Steps get theirs fetched.
func (p Payload) IsRef() bool { return p.message.GetRef() != nil }

// JSON is the JSON text; false: the value is no JSON.
func (p Payload) JSON() (string, bool) {
	_, ok := p.message.GetData().(*perdurev1.Payload_Json)
	return p.message.GetJson(), ok
}

// Binary are the bytes; false: the value is not binary.
func (p Payload) Binary() ([]byte, bool) {
	_, ok := p.message.GetData().(*perdurev1.Payload_Binary)
	return p.message.GetBinary(), ok
}

// ContentType is the media type of the plain value; empty: JSON for JSON, unknown for bytes.
func (p Payload) ContentType() string { return p.message.GetContentType() }

// Encoding is the name of the codec that made the bytes; empty: plain.
func (p Payload) Encoding() string { return p.message.GetEncoding() }

// Message is the wire's message; nil: no value.
func (p Payload) Message() *perdurev1.Payload { return p.message }

// String says what it is in a few words; never the value, which may be private.
func (p Payload) String() string {
	switch data := p.message.GetData().(type) {
	case *perdurev1.Payload_Json:
		return fmt.Sprintf("<%d bytes of JSON>", len(data.Json))
	case *perdurev1.Payload_Binary:
		if p.message.GetEncoding() != "" {
			return "<" + told(p.message) + ">"
		}
		return fmt.Sprintf("<%d bytes>", len(data.Binary))
	case *perdurev1.Payload_Ref:
		return fmt.Sprintf("<%d bytes, stored apart>", data.Ref.GetSizeBytes())
	}
	return "<no value>"
}

// Decode reads a payload as a T. No value is an error, unless T is a pointer, an interface, a [Payload] or [None].
// JSON must fit T as encoding/json has it; []byte takes binary values only.
func Decode[T any](payload Payload) (T, error) {
	var value T
	err := decodeInto(payload.message, reflect.ValueOf(&value).Elem())
	return value, err
}

// None is the type of a step without output, or of an input that carries nothing: it travels as no value.
type None struct{}

var (
	payloadType = reflect.TypeFor[Payload]()
	noneType    = reflect.TypeFor[None]()
	bytesType   = reflect.TypeFor[[]byte]()
)

// encode is the payload of a value; nil for no value.
func encode(value any) (*perdurev1.Payload, error) {
	switch value := value.(type) {
	case nil, None, *None:
		return nil, nil
	case []byte:
		return &perdurev1.Payload{Data: &perdurev1.Payload_Binary{Binary: value}}, nil
	case Payload:
		return value.message, nil
	case *Payload:
		if value == nil {
			return nil, nil
		}
		return value.message, nil
	}
	if found := reflect.ValueOf(value); found.Kind() == reflect.Pointer && found.IsNil() {
		return nil, nil
	}
	text, err := toJSON(value)
	if err != nil {
		return nil, err
	}
	return &perdurev1.Payload{Data: &perdurev1.Payload_Json{Json: text}}, nil
}

func toJSON(value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		fault := invalid(ReasonPayloadInvalid, "%T cannot travel as JSON: %v", value, err)
		fault.cause = err
		return "", fault
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

func decodeInto(payload *perdurev1.Payload, target reflect.Value) error {
	kind := target.Type()
	if kind == payloadType {
		target.Set(reflect.ValueOf(Payload{payload}))
		return nil
	}
	switch data := payload.GetData().(type) {
	case nil:
		switch {
		case kind == noneType, kind.Kind() == reflect.Pointer, kind.Kind() == reflect.Interface:
			return nil
		}
		return invalid(ReasonPayloadInvalid, "there is no value, and %s does not allow that: use *%s", kind, kind)
	case *perdurev1.Payload_Ref:
		return invalid(ReasonPayloadInvalid, "the value is stored apart: fetch it first, by Run.Fetch")
	case *perdurev1.Payload_Binary:
		if payload.GetEncoding() != "" {
			return undecodable(payload)
		}
		return decodeBinary(data.Binary, target)
	case *perdurev1.Payload_Json:
		return decodeJSON(data.Json, target)
	}
	return invalid(ReasonPayloadInvalid, "the value is of a kind that this version does not know")
}

func decodeBinary(value []byte, target reflect.Value) error {
	kind := target.Type()
	switch {
	case kind == bytesType:
		target.SetBytes(value)
	case kind.Kind() == reflect.Pointer && kind.Elem() == bytesType:
		target.Set(reflect.ValueOf(&value))
	case kind.Kind() == reflect.Interface && kind.NumMethod() == 0:
		target.Set(reflect.ValueOf(value))
	default:
		return invalid(ReasonPayloadInvalid, "not a %s: the value is binary (%d bytes)", kind, len(value))
	}
	return nil
}

func decodeJSON(text string, target reflect.Value) error {
	kind := target.Type()
	if kind == noneType {
		return nil
	}
	if kind == bytesType {
		return invalid(ReasonPayloadInvalid, "the value is JSON, not binary: []byte takes binary values only")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(target.Addr().Interface()); err != nil {
		fault := invalid(ReasonPayloadInvalid, "not a %s: %v", kind, err)
		fault.cause = err
		return fault
	}
	if _, err := decoder.Token(); err != io.EOF {
		return invalid(ReasonPayloadInvalid, "not a %s: there is more behind the JSON value", kind)
	}
	return nil
}

// orNoValue is the payload, or one without data, which clears a checkpoint.
func orNoValue(payload *perdurev1.Payload) *perdurev1.Payload {
	if payload == nil {
		return &perdurev1.Payload{}
	}
	return payload
}
