package perdure

import (
	"fmt"
	"strings"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Codec makes values unreadable to everything between two programs that hold the keys. It sees bytes; what it gives travels
// as a binary payload under its name. [NewAESGCM] is the one that all of Perdure's libraries have. Its methods may be called
// at the same time.
type Codec interface {
	// Name travels as the payload's encoding; the same in all languages.
	Name() string
	// Encode gives the encoded form. The content type travels readable beside it and should be bound to it.
	Encode(plain []byte, contentType string) ([]byte, error)
	// Decode gives what Encode was given. Its error is an [*Undecodable].
	Decode(encoded []byte, contentType string) ([]byte, error)
	// Digest is a keyed hash: equal for equal values, and tells nothing without the key. At most 128 characters.
	Digest(plain []byte) string
}

// Undecodable is the error of asking for a value that is encoded, where this program cannot decode it.
type Undecodable struct {
	// Message says what is wrong, and nothing of the value.
	Message string
	// Cause is key_missing, key_wrong, tampered, malformed or encoding_unknown.
	Cause string
}

// Error is the message.
func (u *Undecodable) Error() string { return u.Message }

const (
	// codecFailurePrefix begins the failure types of attempts whose values could not be decoded; their messages hold
	// nothing of a value and stay readable.
	codecFailurePrefix = "perdure.codec."
	// undecodedNote is metadata that this library puts beside a value that it could not decode, for who asks for it.
	undecodedNote = "perdure-undecoded"
)

// What the first byte of an encoded value says of the rest.
const (
	kindJSON    = 'j'
	kindBinary  = 'b'
	kindFailure = 'f'
)

// told is an encoded value in a few words, such as `encrypted (aes-gcm, key k1)`.
func told(payload *perdurev1.Payload) string {
	if payload.GetEncoding() != AESGCMName {
		return fmt.Sprintf("encoded (%s)", payload.GetEncoding())
	}
	key := keyIDOf(payload.GetBinary())
	if key == "" {
		key = "unknown"
	}
	return fmt.Sprintf("encrypted (%s, key %s)", AESGCMName, key)
}

func undecodable(payload *perdurev1.Payload) error {
	cause, text, _ := strings.Cut(string(payload.GetMetadata()[undecodedNote]), ":")
	if text == "" {
		cause, text = "encoding_unknown", fmt.Sprintf("this program has no codec named %q", payload.GetEncoding())
	}
	return &Undecodable{Message: fmt.Sprintf("the value is %s: %s", told(payload), text), Cause: cause}
}

func failureText(failure *perdurev1.Failure) string {
	if failure.GetMessage() == "" && failure.GetDetails().GetEncoding() != "" {
		return told(failure.GetDetails())
	}
	return failure.GetMessage()
}
