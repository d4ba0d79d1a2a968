package perdure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Puts every value of a message through the codec: into the message before it leaves, out of it where it arrives. It walks
// messages by their descriptors, so a Payload in a new place is reached without a line here. What cannot be decoded stays
// encoded, and is an error for who asks for that value, not for the whole answer.

// seal encodes every value and failure of a message that is not encoded yet, in place. Inputs get a digest.
func seal(message proto.Message, codec Codec) error {
	return eachValue(message.ProtoReflect(), "", func(found protoreflect.ProtoMessage, field protoreflect.Name) error {
		switch found := found.(type) {
		case *perdurev1.Failure:
			return sealFailure(found, codec)
		case *perdurev1.Payload:
			return sealPayload(found, codec, field == "input")
		}
		return nil
	})
}

// sealed is the message for the wire: itself without a codec, else a copy, as the caller's stays readable.
func sealed[M proto.Message](message M, codec Codec) (M, error) {
	if codec == nil {
		return message, nil
	}
	copied := proto.Clone(message).(M)
	return copied, seal(copied, codec)
}

// unseal decodes every value and failure of a message that this codec encoded, in place; what cannot be decoded is left.
func unseal(message proto.Message, codec Codec) {
	// The visitor never fails.
	_ = eachValue(message.ProtoReflect(), "", func(found protoreflect.ProtoMessage, _ protoreflect.Name) error {
		switch found := found.(type) {
		case *perdurev1.Failure:
			unsealFailure(found, codec)
		case *perdurev1.Payload:
			unsealPayload(found, codec)
		}
		return nil
	})
}

type visitor func(found protoreflect.ProtoMessage, field protoreflect.Name) error

// eachValue visits all payloads and failures in a message, outermost only, each with the name of the field that holds it.
func eachValue(message protoreflect.Message, field protoreflect.Name, visit visitor) error {
	switch found := message.Interface().(type) {
	case *perdurev1.Failure, *perdurev1.Payload:
		return visit(found, field)
	}
	if strings.HasPrefix(string(message.Descriptor().FullName()), "google.protobuf.") {
		return nil
	}
	var failed error
	message.Range(func(kind protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		failed = eachPart(kind, value, visit)
		return failed == nil
	})
	return failed
}

func eachPart(kind protoreflect.FieldDescriptor, value protoreflect.Value, visit visitor) (failed error) {
	switch {
	case kind.IsMap():
		if kind.MapValue().Message() == nil {
			return nil
		}
		value.Map().Range(func(_ protoreflect.MapKey, item protoreflect.Value) bool {
			failed = eachValue(item.Message(), kind.Name(), visit)
			return failed == nil
		})
	case kind.Message() == nil:
	case kind.IsList():
		list := value.List()
		for index := range list.Len() {
			if err := eachValue(list.Get(index).Message(), kind.Name(), visit); err != nil {
				return err
			}
		}
	default:
		failed = eachValue(value.Message(), kind.Name(), visit)
	}
	return failed
}

func sealPayload(payload *perdurev1.Payload, codec Codec, withDigest bool) error {
	delete(payload.Metadata, undecodedNote)
	if payload.GetEncoding() != "" {
		return nil
	}
	var plain []byte
	switch data := payload.GetData().(type) {
	case *perdurev1.Payload_Json:
		plain = append([]byte{kindJSON}, data.Json...)
	case *perdurev1.Payload_Binary:
		plain = append([]byte{kindBinary}, data.Binary...)
	default:
		return nil
	}
	if withDigest && payload.GetDigest() == "" {
		input, err := digested(payload)
		if err != nil {
			return err
		}
		payload.Digest = codec.Digest(input)
	}
	encoded, err := codec.Encode(plain, payload.GetContentType())
	if err != nil {
		return fmt.Errorf("the codec %s: %w", codec.Name(), err)
	}
	payload.Data = &perdurev1.Payload_Binary{Binary: encoded}
	payload.Encoding = codec.Name()
	return nil
}

// digested is what a keyed digest of a plain value is made of: canonical JSON, or the content type with its length and the bytes.
func digested(payload *perdurev1.Payload) ([]byte, error) {
	if data, ok := payload.GetData().(*perdurev1.Payload_Json); ok {
		text, err := canonical(data.Json)
		return append([]byte{kindJSON}, text...), err
	}
	contentType := payload.GetContentType()
	input := binary.BigEndian.AppendUint32([]byte{kindBinary}, uint32(len(contentType)))
	return append(append(input, contentType...), payload.GetBinary()...), nil
}

func unsealPayload(payload *perdurev1.Payload, codec Codec) {
	if payload.GetContentType() == waitResultType && payload.GetEncoding() == "" {
		unsealWaitResult(payload, codec)
		return
	}
	plain := decoded(payload, codec)
	if plain == nil {
		return
	}
	if err := putPlain(payload, plain); err != nil {
		note(payload, err)
	}
}

func putPlain(payload *perdurev1.Payload, plain []byte) error {
	switch {
	case len(plain) > 0 && plain[0] == kindBinary:
		payload.Data = &perdurev1.Payload_Binary{Binary: plain[1:]}
	case len(plain) > 0 && plain[0] == kindJSON:
		if !utf8.Valid(plain) {
			return &Undecodable{"what it decodes to is no UTF-8", "malformed"}
		}
		payload.Data = &perdurev1.Payload_Json{Json: string(plain[1:])}
	default:
		return &Undecodable{"what it decodes to is neither JSON nor binary", "malformed"}
	}
	// Whoever changes the value and sends it on must not send an old digest.
	payload.Encoding, payload.Digest = "", ""
	return nil
}

// decoded is what the codec makes of a value that it encoded; nil: it did not, or cannot.
func decoded(payload *perdurev1.Payload, codec Codec) []byte {
	data, ok := payload.GetData().(*perdurev1.Payload_Binary)
	if !ok || payload.GetEncoding() != codec.Name() {
		return nil
	}
	plain, err := codec.Decode(data.Binary, payload.GetContentType())
	if err != nil {
		note(payload, err)
		return nil
	}
	if plain == nil {
		plain = []byte{}
	}
	return plain
}

func note(payload *perdurev1.Payload, err error) {
	known := &Undecodable{Message: err.Error(), Cause: "malformed"}
	errors.As(err, &known)
	if payload.Metadata == nil {
		payload.Metadata = map[string][]byte{}
	}
	payload.Metadata[undecodedNote] = []byte(known.Cause + ":" + known.Message)
}

// unsealWaitResult: the server made this JSON; the signals' payloads inside are as their senders sealed them.
func unsealWaitResult(payload *perdurev1.Payload, codec Codec) {
	if !strings.Contains(payload.GetJson(), `"encoding"`) {
		return
	}
	result, err := parseWaitResult(payload)
	if err != nil {
		return // the one who asks for it is told
	}
	unseal(result, codec)
	if text, err := protojson.Marshal(result); err == nil {
		payload.Data = &perdurev1.Payload_Json{Json: string(text)}
	}
}

func sealFailure(failure *perdurev1.Failure, codec Codec) error {
	if failure.GetDetails().GetEncoding() == codec.Name() {
		return nil
	}
	if strings.HasPrefix(failure.GetType(), codecFailurePrefix) {
		if failure.GetDetails() == nil {
			return nil
		}
		return sealPayload(failure.GetDetails(), codec, false)
	}
	inner := &perdurev1.Failure{Message: failure.GetMessage(), Details: failure.GetDetails()}
	plain, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{kindFailure}, inner)
	if err != nil {
		return err
	}
	encoded, err := codec.Encode(plain, "")
	if err != nil {
		return fmt.Errorf("the codec %s: %w", codec.Name(), err)
	}
	failure.Message = ""
	failure.Details = &perdurev1.Payload{Data: &perdurev1.Payload_Binary{Binary: encoded}, Encoding: codec.Name()}
	return nil
}

func unsealFailure(failure *perdurev1.Failure, codec Codec) {
	plain := decoded(failure.GetDetails(), codec)
	if plain == nil {
		return
	}
	if len(plain) == 0 || plain[0] != kindFailure {
		unsealPayload(failure.GetDetails(), codec)
		return
	}
	inner := &perdurev1.Failure{}
	if proto.Unmarshal(plain[1:], inner) != nil {
		return
	}
	failure.Message, failure.Details = inner.GetMessage(), inner.GetDetails()
}

// checkDefinition is the error of a definition by which the server would have to look into values that the codec hides.
func checkDefinition(definition *perdurev1.Definition, codec Codec) error {
	if codec == nil {
		return nil
	}
	fault := invalid(ReasonDefinitionInvalid, "the server cannot look into values of this codec")
	for index, step := range definition.GetSteps() {
		if from := step.GetMap().GetItemsFrom(); from != "" {
			fault.Violations = append(fault.Violations, Violation{
				fmt.Sprintf("definition.steps[%d].map.items_from", index),
				fmt.Sprintf("%s takes its items out of %s, which is encrypted: use a paging step", step.GetName(), from),
			})
		}
		if step.GetChild() != nil && step.GetChild().GetInputFrom() == "" && len(step.GetNeeds().GetNames()) > 0 {
			fault.Violations = append(fault.Violations, Violation{
				fmt.Sprintf("definition.steps[%d].child.input_from", index),
				fmt.Sprintf("%s makes one input of %s, which is encrypted: name one value with `input`",
					step.GetName(), strings.Join(step.GetNeeds().GetNames(), ", ")),
			})
		}
	}
	if len(fault.Violations) > 0 {
		return fault
	}
	return nil
}
