package perdure

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// AESGCMName is the encoding of values that [NewAESGCM] encrypts.
const AESGCMName = "aes-gcm"

const (
	keySize      = 32
	keyCheckSize = 4
	nonceSize    = 12
	tagSize      = 16
	formVersion  = 1
)

var keyIDs = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// KeyRing holds the keys of one team: which encrypts, which still decrypt, and which makes digests.
type KeyRing struct {
	// Active is the id of the key that encrypts.
	Active string
	// Keys are by id, 32 bytes each. Ids have 1 to 64 letters, digits, `.`, `_` and `-`; they travel readable.
	Keys map[string][]byte
	// DigestKey has 32 bytes. Keep it when keys change: with another one a repeated start is no longer known as the same.
	DigestKey []byte
}

// ParseKeyRing reads the text of a key file, {"active": id, "keys": {id: base64}, "digest_key": base64}. Its error names
// what is wrong, and no key.
func ParseKeyRing(text []byte) (KeyRing, error) {
	var file struct {
		Active    *string           `json:"active"`
		Keys      map[string]string `json:"keys"`
		DigestKey string            `json:"digest_key"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		// Not the decoder's words: they may quote what they stumbled over.
		return KeyRing{}, fmt.Errorf(`a key file is JSON, {"active": id, "keys": {id: base64}, "digest_key": base64}, and this is none`)
	}
	if file.Active == nil || file.Keys == nil {
		return KeyRing{}, fmt.Errorf(`a key file is {"active": id, "keys": {id: base64}, "digest_key": base64}`)
	}
	ring := KeyRing{Active: *file.Active, Keys: map[string][]byte{}}
	for id, encoded := range file.Keys {
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return KeyRing{}, fmt.Errorf("keys.%s is not base64", id)
		}
		ring.Keys[id] = key
	}
	digest, err := base64.StdEncoding.DecodeString(file.DigestKey)
	if err != nil {
		return KeyRing{}, fmt.Errorf("digest_key is not base64")
	}
	ring.DigestKey = digest
	return ring, ring.check()
}

func (r KeyRing) check() error {
	for id, key := range r.Keys {
		if !keyIDs.MatchString(id) {
			return fmt.Errorf("a key's id has 1 to 64 letters, digits, `.`, `_` and `-`; %q has not", id)
		}
		if len(key) != keySize {
			return fmt.Errorf("key %s has %d bytes; AES-256 needs %d", id, len(key), keySize)
		}
	}
	if _, ok := r.Keys[r.Active]; !ok {
		return fmt.Errorf("the active key %q is not among the keys: %s", r.Active, strings.Join(slices.Sorted(maps.Keys(r.Keys)), ", "))
	}
	if len(r.DigestKey) != keySize {
		return fmt.Errorf("digest_key has %d bytes; it needs %d", len(r.DigestKey), keySize)
	}
	return nil
}

type aesGCM struct {
	ring    KeyRing
	ciphers map[string]cipher.AEAD
	headers map[string][]byte
}

// NewAESGCM is the codec `aes-gcm`: AES-256-GCM with random nonces. An encrypted value is
//
//	1 | length of the key's id | the id | check of the key (4) | nonce (12) | cipher text with its tag (16)
//
// and everything before the nonce, and the content type, are bound to it. Give a ring a new key before one key has
// encrypted 2^32 values.
func NewAESGCM(ring KeyRing) (Codec, error) {
	if err := ring.check(); err != nil {
		return nil, err
	}
	made := &aesGCM{ring, map[string]cipher.AEAD{}, map[string][]byte{}}
	for id, key := range ring.Keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if made.ciphers[id], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		made.headers[id] = headerOf(id, key)
	}
	return made, nil
}

// LoadKeyFile is the codec of a key file, as PERDURE_CODEC_KEYS names one.
func LoadKeyFile(path string) (Codec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ring, err := ParseKeyRing(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return NewAESGCM(ring)
}

func (c *aesGCM) Name() string { return AESGCMName }

// String names the keys, not what they are.
func (c *aesGCM) String() string {
	return fmt.Sprintf("aes-gcm active=%s keys=%s", c.ring.Active, strings.Join(slices.Sorted(maps.Keys(c.ring.Keys)), ","))
}

func (c *aesGCM) Encode(plain []byte, contentType string) ([]byte, error) {
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return c.encodeWith(c.ring.Active, nonce, plain, contentType), nil
}

// encodeWith takes key and nonce as given: for test vectors, as a nonce that is used twice breaks the key.
func (c *aesGCM) encodeWith(id string, nonce, plain []byte, contentType string) []byte {
	header := c.headers[id]
	encoded := make([]byte, 0, len(header)+nonceSize+len(plain)+tagSize)
	encoded = append(append(encoded, header...), nonce...)
	return c.ciphers[id].Seal(encoded, nonce, plain, associated(header, contentType))
}

func (c *aesGCM) Decode(encoded []byte, contentType string) ([]byte, error) {
	if len(encoded) < 2 || encoded[0] != formVersion {
		version := "no bytes"
		if len(encoded) > 0 {
			version = fmt.Sprintf("version %d", encoded[0])
		}
		return nil, &Undecodable{version + " of the encrypted form is not known here", "malformed"}
	}
	size := 2 + int(encoded[1]) + keyCheckSize
	if len(encoded) < size+nonceSize+tagSize {
		return nil, &Undecodable{fmt.Sprintf("%d bytes are too few for an encrypted value", len(encoded)), "malformed"}
	}
	header, id := encoded[:size], string(encoded[2:2+encoded[1]])
	aead, ok := c.ciphers[id]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(c.ring.Keys)), ", ")
		return nil, &Undecodable{fmt.Sprintf("key %s is not in the key ring, which has %s", id, known), "key_missing"}
	}
	if !hmac.Equal(header, c.headers[id]) {
		return nil, &Undecodable{fmt.Sprintf("key %s in the key ring is another key than the one that encrypted this", id), "key_wrong"}
	}
	body := encoded[size+nonceSize:]
	plain, err := aead.Open(nil, encoded[size:size+nonceSize], body, associated(header, contentType))
	if err != nil {
		return nil, &Undecodable{"the value or its content type was changed after it was encrypted", "tampered"}
	}
	return plain, nil
}

func (c *aesGCM) Digest(plain []byte) string {
	sum := hmac.New(sha256.New, c.ring.DigestKey)
	sum.Write(plain)
	return "hs256:" + hex.EncodeToString(sum.Sum(nil))
}

func headerOf(id string, key []byte) []byte {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte("perdure key check"))
	header := append([]byte{formVersion, byte(len(id))}, id...)
	return append(header, sum.Sum(nil)[:keyCheckSize]...)
}

func associated(header []byte, contentType string) []byte {
	return append(append([]byte("perdure/aes-gcm"), header...), contentType...)
}

// keyIDOf is the id of the key that encrypted a value, without any key; empty if this is no such value.
func keyIDOf(encoded []byte) string {
	if len(encoded) < 2 || encoded[0] != formVersion || len(encoded) < 2+int(encoded[1]) {
		return ""
	}
	id := string(encoded[2 : 2+encoded[1]])
	if !keyIDs.MatchString(id) {
		return ""
	}
	return id
}
