package perdure

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// canonical is the one text that stands for equal JSON values, for keyed digests: members by the code points of their names,
// no white space, numbers as they were written, strings escaped minimally. The same in all languages:
// tests/conformance/codec_vectors.json.
func canonical(text string) (string, error) {
	made, err := canonicalOf(text)
	if err != nil {
		return "", invalid(ReasonPayloadInvalid, "not JSON: %v", err)
	}
	return made, nil
}

func canonicalOf(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("no UTF-8")
	}
	if err := checkSurrogates(text); err != nil {
		return "", err
	}
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return "", err // among others of what is too deep: what follows calls itself at each level
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var made strings.Builder
	token, err := decoder.Token()
	if err != nil {
		return "", err
	}
	if err := writeCanonical(&made, decoder, token); err != nil {
		return "", err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return "", fmt.Errorf("there is more behind the value")
	}
	return made.String(), nil
}

func writeCanonical(made *strings.Builder, decoder *json.Decoder, token json.Token) error {
	switch token := token.(type) {
	case nil:
		made.WriteString("null")
	case bool:
		made.WriteString(strconv.FormatBool(token))
	case json.Number:
		made.WriteString(token.String())
	case string:
		writeString(made, token)
	case json.Delim:
		if token == '[' {
			return writeArray(made, decoder)
		}
		return writeObject(made, decoder)
	}
	return nil
}

func writeArray(made *strings.Builder, decoder *json.Decoder) error {
	made.WriteByte('[')
	for first := true; ; first = false {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		if token == json.Delim(']') {
			made.WriteByte(']')
			return nil
		}
		if !first {
			made.WriteByte(',')
		}
		if err := writeCanonical(made, decoder, token); err != nil {
			return err
		}
	}
}

func writeObject(made *strings.Builder, decoder *json.Decoder) error {
	members := map[string]string{}
	var names []string
	for {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		if token == json.Delim('}') {
			break
		}
		name, _ := token.(string)
		if _, ok := members[name]; ok {
			return fmt.Errorf("a name stands twice in an object")
		}
		if token, err = decoder.Token(); err != nil {
			return err
		}
		var value strings.Builder
		if err := writeCanonical(&value, decoder, token); err != nil {
			return err
		}
		members[name] = value.String()
		names = append(names, name)
	}
	slices.Sort(names) // by bytes of UTF-8, which is by code points
	made.WriteByte('{')
	for index, name := range names {
		if index > 0 {
			made.WriteByte(',')
		}
		writeString(made, name)
		made.WriteByte(':')
		made.WriteString(members[name])
	}
	made.WriteByte('}')
	return nil
}

func writeString(made *strings.Builder, text string) {
	made.WriteByte('"')
	for _, letter := range text {
		switch letter {
		case '"', '\\':
			made.WriteByte('\\')
			made.WriteRune(letter)
		case '\b':
			made.WriteString(`\b`)
		case '\t':
			made.WriteString(`\t`)
		case '\n':
			made.WriteString(`\n`)
		case '\f':
			made.WriteString(`\f`)
		case '\r':
			made.WriteString(`\r`)
		default:
			if letter < 0x20 {
				fmt.Fprintf(made, `\u%04x`, letter)
			} else {
				made.WriteRune(letter)
			}
		}
	}
	made.WriteByte('"')
}

// checkSurrogates refuses half of a surrogate pair, which encoding/json would turn into U+FFFD without a word.
func checkSurrogates(text string) error {
	for index := 0; index < len(text); index++ {
		if text[index] != '\\' {
			continue
		}
		high, isUnicode := escapedUnit(text, index)
		if !isUnicode {
			index++ // the escaped letter, which may be a backslash
			continue
		}
		index += 5
		if high < 0xd800 || high > 0xdfff {
			continue
		}
		low, ok := escapedUnit(text, index+1)
		if high > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
			return fmt.Errorf("half of a surrogate pair")
		}
		index += 6
	}
	return nil
}

func escapedUnit(text string, at int) (uint64, bool) {
	if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(text[at+2:at+6], 16, 32)
	return unit, err == nil
}
