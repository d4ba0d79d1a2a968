package perdure

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

type vector struct {
	Name        string
	Key         string
	Nonce       []byte
	ContentType string `json:"content_type"`
	JSON        *string
	Binary      []byte
	Repeated    *struct {
		Text  string
		Times int
	}
	Canonical     string
	Encoded       []byte
	EncodedSHA256 []byte `json:"encoded_sha256"`
	Digest        string
	Message       string
	Details       struct{ JSON string }
	Serialized    []byte
	Cause         string
}

type vectorFile struct {
	KeyFile                   json.RawMessage `json:"key_file"`
	Values, Failures, Refused []vector
}

func vectors(t *testing.T) (vectorFile, *aesGCM) {
	t.Helper()
	text, err := os.ReadFile("../../tests/conformance/codec_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var found vectorFile
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	ring, err := ParseKeyRing(found.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := NewAESGCM(ring)
	if err != nil {
		t.Fatal(err)
	}
	return found, codec.(*aesGCM)
}

func (v *vector) payload() *perdurev1.Payload {
	made := &perdurev1.Payload{ContentType: v.ContentType}
	switch {
	case v.JSON != nil:
		made.Data = &perdurev1.Payload_Json{Json: *v.JSON}
	case v.Repeated != nil:
		made.Data = &perdurev1.Payload_Json{Json: `"` + strings.Repeat(v.Repeated.Text, v.Repeated.Times) + `"`}
	default:
		made.Data = &perdurev1.Payload_Binary{Binary: v.Binary}
	}
	return made
}

func TestCodecVectors(t *testing.T) {
	file, codec := vectors(t)
	for _, vector := range file.Values {
		t.Run(vector.Name, func(t *testing.T) {
			payload := vector.payload()
			input, err := digested(payload)
			if err != nil {
				t.Fatal(err)
			}
			if payload.GetJson() != "" && vector.Canonical != "" && string(input[1:]) != vector.Canonical {
				t.Errorf("canonical is %s, not %s", input[1:], vector.Canonical)
			}
			if digest := codec.Digest(input); digest != vector.Digest {
				t.Errorf("the digest is %s, not %s", digest, vector.Digest)
			}
			plain := append([]byte{kindBinary}, payload.GetBinary()...)
			if _, ok := payload.GetData().(*perdurev1.Payload_Json); ok {
				plain = append([]byte{kindJSON}, payload.GetJson()...)
			}
			encoded := codec.encodeWith(vector.Key, vector.Nonce, plain, vector.ContentType)
			if vector.EncodedSHA256 != nil {
				sum := sha256.Sum256(encoded)
				if string(sum[:]) != string(vector.EncodedSHA256) {
					t.Error("it is encoded otherwise")
				}
			} else if string(encoded) != string(vector.Encoded) {
				t.Error("it is encoded otherwise")
			}
			sealed := &perdurev1.Payload{
				Data: &perdurev1.Payload_Binary{Binary: encoded}, ContentType: vector.ContentType, Encoding: AESGCMName,
			}
			unseal(sealed, codec)
			if !proto.Equal(sealed, payload) {
				t.Error("decoded it is something else")
			}
		})
	}
}

func TestCodecVectorsOfFailures(t *testing.T) {
	file, codec := vectors(t)
	for _, vector := range file.Failures {
		t.Run(vector.Name, func(t *testing.T) {
			details := &perdurev1.Payload{Data: &perdurev1.Payload_Json{Json: vector.Details.JSON}}
			inner, err := proto.MarshalOptions{Deterministic: true}.Marshal(&perdurev1.Failure{Message: vector.Message, Details: details})
			if err != nil || string(inner) != string(vector.Serialized) {
				t.Fatalf("serialized it is something else (%v)", err)
			}
			failure := &perdurev1.Failure{Type: "a.b", Details: &perdurev1.Payload{
				Data: &perdurev1.Payload_Binary{Binary: vector.Encoded}, Encoding: AESGCMName,
			}}
			unseal(failure, codec)
			if failure.GetMessage() != vector.Message || failure.GetDetails().GetJson() != vector.Details.JSON {
				t.Errorf("decoded it is %v", failure)
			}
			if err := seal(failure, codec); err != nil || failure.GetMessage() != "" || failure.GetDetails().GetEncoding() != AESGCMName || failure.GetType() != "a.b" {
				t.Errorf("sealed again it is %v (%v)", failure, err)
			}
		})
	}
}

func TestCodecVectorsThatAreRefused(t *testing.T) {
	file, codec := vectors(t)
	for _, vector := range file.Refused {
		t.Run(vector.Name, func(t *testing.T) {
			payload := &perdurev1.Payload{
				Data: &perdurev1.Payload_Binary{Binary: vector.Encoded}, ContentType: vector.ContentType, Encoding: AESGCMName,
			}
			unseal(payload, codec)
			_, err := Decode[any](PayloadOf(payload))
			var undecodable *Undecodable
			if !errors.As(err, &undecodable) || undecodable.Cause != vector.Cause {
				t.Errorf("it is refused by %v, not as %s", err, vector.Cause)
			}
		})
	}
}

func TestSealingReachesEveryValueAndLeavesTheCallersMessageAlone(t *testing.T) {
	_, codec := vectors(t)
	request := &perdurev1.StartWorkflowRequest{
		Input:   &perdurev1.Payload{Data: &perdurev1.Payload_Json{Json: "1"}},
		Signals: []*perdurev1.StartSignal{{SignalName: "s", Payload: &perdurev1.Payload{Data: &perdurev1.Payload_Json{Json: "2"}}}},
		Labels:  map[string]string{"a": "b"},
	}
	found, err := sealed(request, codec)
	if err != nil {
		t.Fatal(err)
	}
	if found.GetInput().GetEncoding() != AESGCMName || found.GetInput().GetDigest() == "" || found.GetSignals()[0].GetPayload().GetEncoding() != AESGCMName {
		t.Errorf("sealed it is %v", found)
	}
	if request.GetInput().GetJson() != "1" {
		t.Error("the caller's own message is sealed")
	}
	claim := &perdurev1.Claim{Inputs: map[string]*perdurev1.Payload{"input": found.GetInput()}}
	unseal(claim, codec)
	if claim.GetInputs()["input"].GetJson() != "1" {
		t.Errorf("decoded it is %v", claim)
	}
}

func TestKeyRingsThatAreRefusedSayWhyAndShowNoKey(t *testing.T) {
	secret := "c2VjcmV0"
	for text, want := range map[string]string{
		`{`: "a key file is", `{"active":"k1"}`: "a key file is",
		`{"active":"k1","keys":{"k1":"` + secret + `"},"digest_key":""}`:  "AES-256 needs 32",
		`{"active":"k1","keys":{"k 1":"` + secret + `"},"digest_key":""}`: "a key's id",
		`{"active":"k1","keys":{"k1":"!"},"digest_key":""}`:               "keys.k1 is not base64",
	} {
		_, err := ParseKeyRing([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("of %s it says %v", text, err)
		}
	}
}

func TestHalfOfASurrogatePairHasNoDigest(t *testing.T) {
	for _, text := range []string{`"\ud800"`, `"\udc00x"`, `"\ud800A"`, `{"a":1,"a":2}`, `[1`, `1 2`, strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		if _, err := canonical(text); ReasonOf(err) != ReasonPayloadInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
	if found, err := canonical(`"\ud83d\ude00 \\ud800"`); err != nil || found != `"😀 \\ud800"` {
		t.Errorf("%s, %v", found, err)
	}
}
