package perdure

import (
	"go/ast"
	"go/parser"
	token2 "go/token"
	"strconv"
	"strings"
	"testing"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

func TestReasonsAreThoseOfTheProto(t *testing.T) {
	file, err := parser.ParseFile(token2.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	here := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok {
			name, _ := strconv.Unquote(literal.Value)
			here[name] = true
		}
		return true
	})
	for number, name := range perdurev1.ErrorReason_name {
		name = strings.TrimPrefix(name, "ERROR_REASON_")
		if number != 0 && !here[name] {
			t.Errorf("%s has no constant", name)
		}
		delete(here, name)
	}
	for name := range here {
		t.Errorf("%s is no reason of the proto", name)
	}
}
