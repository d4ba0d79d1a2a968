package perdure

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// fieldReader takes values out of a YAML document by kind, gathering every fault with its place; a wrong value becomes a fault
// and a harmless value.
type fieldReader struct {
	faults []Violation
}

// fields are the entries of a mapping, in their order.
type fields []namedNode

type namedNode struct {
	name  string
	value *yaml.Node
}

// get is the value of a key; nil: there is none, or it is null.
func (f fields) get(name string) *yaml.Node {
	for _, field := range f {
		if field.name == name && !isNull(field.value) {
			return field.value
		}
	}
	return nil
}

func isNull(value *yaml.Node) bool { return value == nil || value.Tag == "!!null" }

func (r *fieldReader) fault(path, text string) {
	r.faults = append(r.faults, Violation{path, text})
}

// mapping is a mapping with text keys, each once, all of them known; nil: any key is.
func (r *fieldReader) mapping(path string, value *yaml.Node, known []string) fields {
	if isNull(value) {
		return nil
	}
	value = resolved(value)
	if value.Kind != yaml.MappingNode {
		r.fault(path, "must be a mapping, not "+kindOf(value))
		return nil
	}
	var found fields
	for index := 0; index+1 < len(value.Content); index += 2 {
		key, item := value.Content[index], resolved(value.Content[index+1])
		place := strings.TrimPrefix(path+"."+key.Value, ".")
		switch {
		case key.Tag != "!!str":
			r.fault(path, fmt.Sprintf("the key %s must be text: quote it", key.Value))
			continue
		case slices.ContainsFunc(found, func(other namedNode) bool { return other.name == key.Value }):
			r.fault(path, fmt.Sprintf("the key '%s' is given twice", key.Value))
		case known != nil && !slices.Contains(known, key.Value):
			r.fault(place, "is not known; known are "+strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		found = append(found, namedNode{key.Value, item})
	}
	return found
}

func resolved(value *yaml.Node) *yaml.Node {
	for value != nil && value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	return value
}

// items are those of a list; one value alone is a list of one.
func (r *fieldReader) items(value *yaml.Node) []*yaml.Node {
	if isNull(value) {
		return nil
	}
	if value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return []*yaml.Node{value}
}

// text must be quoted where YAML would change it, as with numbers.
func (r *fieldReader) text(path string, value *yaml.Node) string {
	if isNull(value) {
		return ""
	}
	if value = resolved(value); value.Tag != "!!str" {
		r.fault(path, "must be text, not "+kindOf(value)+": quote it")
		return ""
	}
	return value.Value
}

func (r *fieldReader) names(path string, value *yaml.Node) []string {
	var found []string
	for index, item := range r.items(value) {
		found = append(found, r.text(fmt.Sprintf("%s[%d]", path, index), item))
	}
	return found
}

func (r *fieldReader) integer(path string, value *yaml.Node) *int32 {
	if isNull(value) {
		return nil
	}
	number, err := strconv.ParseInt(value.Value, 0, 32)
	if value.Tag != "!!int" || err != nil {
		r.fault(path, "must be a whole number, not "+kindOf(value))
		return nil
	}
	found := int32(number)
	return &found
}

func (r *fieldReader) number(path string, value *yaml.Node) *float64 {
	if isNull(value) {
		return nil
	}
	number, err := strconv.ParseFloat(value.Value, 64)
	if (value.Tag != "!!int" && value.Tag != "!!float") || err != nil {
		r.fault(path, "must be a number, not "+kindOf(value))
		return nil
	}
	return &number
}

func (r *fieldReader) flag(path string, value *yaml.Node) bool {
	if value.Tag != "!!bool" {
		r.fault(path, "is "+kindOf(value)+", not true or false")
		return false
	}
	return strings.EqualFold(value.Value, "true")
}

func (r *fieldReader) duration(path string, value *yaml.Node) *durationpb.Duration {
	if isNull(value) {
		return nil
	}
	if value.Tag != "!!str" {
		r.fault(path, "must be a duration with a unit, such as 30s or 3d, not "+kindOf(value))
		return nil
	}
	found, err := parseDuration(value.Value)
	if err != nil {
		r.fault(path, err.Error())
		return nil
	}
	return found
}

func (r *fieldReader) time(path string, value *yaml.Node) *timestamppb.Timestamp {
	if isNull(value) {
		return nil
	}
	text := strings.Replace(value.Value, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if found, err := time.Parse(layout, text); err == nil {
			return timestamppb.New(found)
		}
	}
	r.fault(path, "must be a time with its zone, such as 2030-01-01T00:00:00Z")
	return nil
}

func kindOf(value *yaml.Node) string {
	switch {
	case value.Kind == yaml.MappingNode:
		return "a mapping"
	case value.Kind == yaml.SequenceNode:
		return "a list"
	case value.Tag == "!!bool":
		return "the truth value " + value.Value
	case value.Tag == "!!null":
		return "nothing"
	}
	return value.Value
}

var (
	durationParts = regexp.MustCompile(`(\d+(?:\.\d+)?)(ms|s|m|h|d|w)`)
	durationUnits = map[string]float64{"ms": 1e-3, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
)

// parseDuration reads a duration as people write it: 500ms, 30s, 1h30m, 3d.
func parseDuration(text string) (*durationpb.Duration, error) {
	compact := strings.ReplaceAll(text, " ", "")
	whole, seconds := "", 0.0
	for _, part := range durationParts.FindAllStringSubmatch(compact, -1) {
		number, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%q is too long", text)
		}
		whole += part[0]
		seconds += number * durationUnits[part[2]]
	}
	if whole == "" || whole != compact {
		return nil, fmt.Errorf("%q is no duration: write a number and a unit (ms, s, m, h, d, w), such as 30s, 1h30m or 3d", text)
	}
	if seconds > 315_576_000_000 { // the bound of a protobuf duration
		return nil, fmt.Errorf("%q is too long", text)
	}
	// To the microsecond, as in all languages.
	micros := int64(math.Round(seconds * 1e6))
	return &durationpb.Duration{Seconds: micros / 1e6, Nanos: int32(micros%1e6) * 1_000}, nil
}
