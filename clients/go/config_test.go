package perdure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func settings(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestSettingsComeFromOptionsThenVariablesThenAProfile(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "profiles.toml")
	text := "[prod]\naddress = \"prod:1\"\nnamespace = \"shop\"\ntls = true\ntls_server_name = \"perdure\"\n"
	if err := os.WriteFile(profiles, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		told   given
		known  map[string]string
		want   Config
		hasTLS bool
	}{
		{given{}, nil, Config{Address: DefaultAddress, Namespace: "default"}, false},
		{given{address: "a"}, map[string]string{"PERDURE_ADDRESS": "b:1"}, Config{Address: "a:7463", Namespace: "default"}, false},
		{given{}, map[string]string{"PERDURE_ADDRESS": "[::1]", "PERDURE_TOKEN": "t"}, Config{Address: "[::1]:7463", Namespace: "default", Token: "t"}, false},
		{given{}, map[string]string{"PERDURE_ADDRESS": "dns:///x"}, Config{Address: "dns:///x", Namespace: "default"}, false},
		{given{}, map[string]string{"PERDURE_TLS_CA_FILE": "ca"}, Config{Address: DefaultAddress, Namespace: "default"}, true},
		{given{}, map[string]string{"PERDURE_TLS_CA_FILE": "ca", "PERDURE_TLS": "false"}, Config{Address: DefaultAddress, Namespace: "default"}, false},
		{
			given{profile: "prod"}, map[string]string{"PERDURE_PROFILES": profiles, "PERDURE_NAMESPACE": "mine"},
			Config{Address: "prod:1", Namespace: "mine"}, true,
		},
	} {
		found, err := resolve(test.told, settings(test.known))
		if err != nil {
			t.Fatal(err)
		}
		if hasTLS := found.TLS != nil; hasTLS != test.hasTLS {
			t.Errorf("%v: TLS is %v", test.known, found.TLS)
		}
		found.TLS = nil
		if found != test.want {
			t.Errorf("%v and %v give %#v", test.told, test.known, found)
		}
	}
}

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profiles.toml")
	if err := os.WriteFile(file, []byte("[prod]\nadress = \"x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, known := range map[string]map[string]string{
		"PERDURE_TLS must be true or false": {"PERDURE_TLS": "perhaps"},
		"write host:port, such as a:1":      {"PERDURE_ADDRESS": "http://a:1"},
		"PERDURE_CODEC_KEYS":                {"PERDURE_CODEC_KEYS": "/nowhere"},
		"has no profile test; it has prod":  {"PERDURE_PROFILE": "test", "PERDURE_PROFILES": file},
		"adress: no such setting":           {"PERDURE_PROFILE": "prod", "PERDURE_PROFILES": file},
	} {
		_, err := resolve(given{}, settings(known))
		if err == nil || !strings.Contains(err.Error(), want) || ReasonOf(err) != ReasonInvalidArgument {
			t.Errorf("instead of %q it says %v", want, err)
		}
	}
	if _, err := Dial(WithTLS(TLS{CertFile: "cert.pem"})); err == nil || !strings.Contains(err.Error(), "go together") {
		t.Errorf("half of a pair: %v", err)
	}
	if _, err := Dial(WithTokenFile("/nowhere")); err == nil {
		t.Error("a token file that is not there is taken")
	}
}

func TestATokenFileIsReadAgainWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		next := path + ".next"
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	file, err := openTokenFile(path)
	if err != nil || file.current() != "one" {
		t.Fatalf("%v, %v", file, err)
	}
	write("two\n")
	if found := file.current(); found != "two" {
		t.Errorf("the token is %q", found)
	}
	write("no\ntoken")
	if found := file.current(); found != "two" {
		t.Errorf("in the middle of a change the token is %q", found)
	}
}

func TestNoSecretIsPrinted(t *testing.T) {
	config := Config{Address: "a:1", Namespace: "n", Token: "secret"}
	for _, text := range []string{config.String(), config.GoString()} {
		if strings.Contains(text, "secret") {
			t.Errorf("printed: %s", text)
		}
	}
}
