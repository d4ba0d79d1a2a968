package perdure

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Where the server is if nothing says otherwise: where `perdure dev` and `perdure serve` listen.
const (
	DefaultAddress   = "127.0.0.1:7463"
	DefaultNamespace = "default"
)

// Config is where the server is and who asks. [Dial] fills it: from its options, else from the environment, else from a
// profile, else by default. Empty variables count as unset.
//
//	PERDURE_ADDRESS          host:port of a server; default 127.0.0.1:7463
//	PERDURE_NAMESPACE        namespace of everything that names none; default `default`
//	PERDURE_TOKEN            bearer token, sent with every call
//	PERDURE_TOKEN_FILE       file of the token, read again when it changes
//	PERDURE_TLS              `true`: TLS, by the CAs of the system; `false`: none, whatever else is set
//	PERDURE_TLS_CA_FILE      CA of the server, in PEM
//	PERDURE_TLS_CERT_FILE    the client's own certificate, in PEM; read again for each new connection
//	PERDURE_TLS_KEY_FILE     its key, in PEM
//	PERDURE_TLS_SERVER_NAME  name that the server's certificate must have
//	PERDURE_PROFILE          name of a profile with any of these, in lower case without PERDURE_
//	PERDURE_PROFILES         file of the profiles; default ~/.config/perdure/profiles.toml
//	PERDURE_CODEC_KEYS       key file that values are encrypted with
type Config struct {
	// Address is host:port, or any gRPC target such as `dns:///perdure:7463`.
	Address string
	// Namespace is that of everything that names none.
	Namespace string
	// Token is the bearer token. Empty: none is sent, unless TokenFile names one.
	Token string
	// TokenFile is where the token is, instead of Token.
	TokenFile string
	// TLS says whom to trust. Nil: plain text.
	TLS *TLS
	// Codec is what values go through. Nil: they travel plain.
	Codec Codec
}

// String names address and namespace, and no secret.
func (c Config) String() string { return c.Address + " " + c.Namespace }

// GoString is as String: %#v shows no secret either.
func (c Config) GoString() string { return "perdure.Config(" + c.String() + ")" }

// given is what Dial was told; zero values: nothing.
type given struct {
	address, namespace, token, tokenFile, profile string
	tls                                           *TLS
	codec                                         Codec
}

func resolve(told given, lookup func(string) string) (Config, error) {
	known, err := withProfile(lookup, told.profile)
	if err != nil {
		return Config{}, err
	}
	config := Config{
		Address:   withPort(firstOf(told.address, known("PERDURE_ADDRESS"), DefaultAddress)),
		Namespace: firstOf(told.namespace, known("PERDURE_NAMESPACE"), DefaultNamespace),
		Token:     told.token,
		TokenFile: told.tokenFile,
		TLS:       told.tls,
		Codec:     told.codec,
	}
	if scheme, rest, isURL := strings.Cut(config.Address, "://"); isURL && (scheme == "http" || scheme == "https") {
		return Config{}, setting("the address %s is a URL: write host:port, such as %s; TLS is asked for by PERDURE_TLS=true", config.Address, rest)
	}
	if config.Token == "" && config.TokenFile == "" {
		config.Token, config.TokenFile = known("PERDURE_TOKEN"), known("PERDURE_TOKEN_FILE")
	}
	if config.Token != "" {
		config.TokenFile = ""
	}
	if config.TLS == nil {
		if config.TLS, err = tlsOf(known); err != nil {
			return Config{}, err
		}
	}
	if path := known("PERDURE_CODEC_KEYS"); config.Codec == nil && path != "" {
		if config.Codec, err = LoadKeyFile(path); err != nil {
			return Config{}, setting("the key file %s (PERDURE_CODEC_KEYS) cannot be used: %v", path, err)
		}
	}
	return config, nil
}

// withPort gives a bare host the port of `perdure dev`; gRPC itself would try 443.
func withPort(address string) string {
	host := address[strings.LastIndex(address, "]")+1:]
	if strings.ContainsRune(host, ':') || strings.ContainsRune(address, '/') {
		return address
	}
	return address + DefaultAddress[strings.LastIndex(DefaultAddress, ":"):]
}

var profileKeys = []string{
	"address", "codec_keys", "namespace", "tls", "tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_name", "token", "token_file",
}

// withProfile adds what the profile (else PERDURE_PROFILE; empty: none) says where a variable is not set.
func withProfile(lookup func(string) string, name string) (func(string) string, error) {
	name = firstOf(name, lookup("PERDURE_PROFILE"))
	if name == "" {
		return lookup, nil
	}
	path, err := profilesPath(lookup)
	if err != nil {
		return nil, err
	}
	profiles := map[string]map[string]any{}
	if _, err := toml.DecodeFile(path, &profiles); err != nil {
		return nil, setting("the profile %s cannot be read from %s: %v", name, path, err)
	}
	found, ok := profiles[name]
	if !ok {
		there := firstOf(strings.Join(slices.Sorted(maps.Keys(profiles)), ", "), "none")
		return nil, setting("%s has no profile %s; it has %s", path, name, there)
	}
	told := map[string]string{}
	for key, value := range found {
		if !slices.Contains(profileKeys, key) {
			return nil, setting("%s: profile %s: %s: no such setting; there are %s", path, name, key, strings.Join(profileKeys, ", "))
		}
		told["PERDURE_"+strings.ToUpper(key)] = fmt.Sprint(value)
	}
	return func(variable string) string { return firstOf(lookup(variable), told[variable]) }, nil
}

func profilesPath(lookup func(string) string) (string, error) {
	if path := lookup("PERDURE_PROFILES"); path != "" {
		return path, nil
	}
	base := lookup("XDG_CONFIG_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", setting("no home directory to find profiles.toml in: set PERDURE_PROFILES")
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "perdure", "profiles.toml"), nil
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// setting is an error about a setting of this program.
func setting(format string, arguments ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, arguments...), Reason: ReasonInvalidArgument}
}
