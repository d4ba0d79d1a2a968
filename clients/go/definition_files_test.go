package perdure

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestDefinitionFilesOfAllLanguages(t *testing.T) {
	text, err := os.ReadFile("../../tests/conformance/definition_files.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]map[string]string
	if err := yaml.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	if len(files["good"]) == 0 || len(files["bad"]) == 0 {
		t.Fatal("the files have not been found")
	}
	for name, file := range files["good"] {
		if _, err := ParseDefinition([]byte(file)); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
	for name, file := range files["bad"] {
		if _, err := ParseDefinition([]byte(file)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
