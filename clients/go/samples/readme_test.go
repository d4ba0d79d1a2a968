package samples

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the README instead of comparing it")

var cut = regexp.MustCompile(`(?s)<!-- begin (\S+) -->\n.*?<!-- end \S+ -->`)

// TestReadmeIsCutFromTheSamples: the README's programs are those that run in tests. `go test ./samples -update` writes them.
func TestReadmeIsCutFromTheSamples(t *testing.T) {
	const readme = "../README.md"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	made := cut.ReplaceAllStringFunc(string(text), func(block string) string {
		count++
		path := cut.FindStringSubmatch(block)[1]
		program, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		language := "go"
		if strings.HasSuffix(path, ".yaml") {
			language = "yaml"
		}
		return "<!-- begin " + path + " -->\n```" + language + "\n" + strings.TrimSpace(string(program)) + "\n```\n<!-- end " + path + " -->"
	})
	if count == 0 {
		t.Fatal("the README has no program")
	}
	if *update {
		if err := os.WriteFile(readme, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made != string(text) {
		t.Error("the README is stale: go test ./samples -run Readme -update")
	}
}
