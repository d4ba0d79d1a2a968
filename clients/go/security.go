package perdure

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLS says whom to trust and what to show. The zero value trusts a server whose certificate the system's CAs have signed.
type TLS struct {
	// CAFile is the CA of the server, in PEM. Empty: the system's.
	CAFile string
	// CertFile is the client's own certificate in PEM with the chain behind it, for servers that ask for one. It is read
	// again for each new connection, so that it can be replaced under a running program.
	CertFile string
	// KeyFile is its private key, in PEM without a password.
	KeyFile string
	// ServerName is the name that the server's certificate must have. Empty: that of the address.
	ServerName string
}

func tlsOf(known func(string) string) (*TLS, error) {
	found := &TLS{
		CAFile: known("PERDURE_TLS_CA_FILE"), CertFile: known("PERDURE_TLS_CERT_FILE"),
		KeyFile: known("PERDURE_TLS_KEY_FILE"), ServerName: known("PERDURE_TLS_SERVER_NAME"),
	}
	switch strings.ToLower(known("PERDURE_TLS")) {
	case "true", "1", "yes":
		return found, nil
	case "false", "0", "no":
		return nil, nil
	case "":
		if *found == (TLS{}) {
			return nil, nil
		}
		return found, nil
	}
	return nil, setting("PERDURE_TLS must be true or false")
}

// transport is the credentials of a connection that is opened now; nil: plain text.
func (t *TLS) transport() (credentials.TransportCredentials, error) {
	if t == nil {
		return insecure.NewCredentials(), nil
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, setting("a client certificate and its key go together: PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, setting("%s cannot be read: %v", t.CAFile, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, setting("%s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		if _, err := t.certificate(nil); err != nil {
			return nil, err
		}
		config.GetClientCertificate = t.certificate
	}
	return credentials.NewTLS(config), nil
}

func (t *TLS) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	found, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, setting("the client certificate %s with the key %s cannot be used: %v", t.CertFile, t.KeyFile, err)
	}
	return &found, nil
}

// tokenFile is a bearer token in a file, read again when the file changes, so that short-lived tokens can be replaced under a
// running program.
type tokenFile struct {
	path  string
	mutex sync.Mutex
	shown os.FileInfo
	token string
}

func openTokenFile(path string) (*tokenFile, error) {
	file := &tokenFile{path: path}
	file.shown, _ = os.Stat(path)
	var err error
	file.token, err = readToken(path)
	return file, err
}

// current is the token; while the file cannot be read, the last one.
func (f *tokenFile) current() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	found, err := os.Stat(f.path)
	if err != nil || (f.shown != nil && found.ModTime().Equal(f.shown.ModTime()) && found.Size() == f.shown.Size() && os.SameFile(found, f.shown)) {
		return f.token
	}
	// In the middle of being written there is none: the next call looks again.
	if token, err := readToken(f.path); err == nil {
		f.token, f.shown = token, found
	}
	return f.token
}

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", setting("the token file cannot be read: %v", err)
	}
	token := strings.TrimSpace(string(text))
	isPrintable := func(letter rune) bool { return letter >= ' ' && letter <= '~' }
	if token == "" || strings.IndexFunc(token, func(letter rune) bool { return !isPrintable(letter) }) >= 0 {
		return "", setting("the token file %s holds no token: one line of printable ASCII", path)
	}
	return token, nil
}

// What Go and gRPC say in a handshake, and what it means. There is no code for any of it; the first that is found counts.
var definiteFaults = []struct{ sign, meaning string }{
	{"certificate has expired", "the server's certificate has expired"},
	{"signed by unknown authority", "the server's certificate is of no CA that is trusted: give its CA by PERDURE_TLS_CA_FILE"},
	{"certificate is valid for", "the server's certificate has other names: use one as address, or set PERDURE_TLS_SERVER_NAME"},
	{"doesn't contain any IP SANs", "the server's certificate has other names: use one as address, or set PERDURE_TLS_SERVER_NAME"},
	{"does not look like a TLS handshake", "the server speaks plain text, and TLS was asked for: unset PERDURE_TLS and its files, or ask another port"},
	{"certificate required", "the server wants a client certificate: PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE"},
}

var cuts = []string{"error reading server preface", "connection reset", "broken pipe", "EOF"}

// handshakeFault says in plain words what went wrong before any call; empty: nothing that is known. A server that has answered
// before is reached: a cut then says nothing of TLS.
func handshakeFault(text string, usesTLS, reached bool) string {
	if fault := definiteFault(text); fault != "" || reached {
		return fault
	}
	for _, sign := range cuts {
		if strings.Contains(text, sign) {
			if usesTLS {
				return "the server cut the handshake: it may want a client certificate, by PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE"
			}
			return "the server cut the connection: it may want TLS, by PERDURE_TLS=true or PERDURE_TLS_CA_FILE"
		}
	}
	return ""
}

// definiteFault is a fault that no later try can help; empty: it is none.
func definiteFault(text string) string {
	for _, fault := range definiteFaults {
		if strings.Contains(text, fault.sign) {
			return fault.meaning
		}
	}
	return ""
}
