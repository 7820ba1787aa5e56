// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// probe queries the URL and takes status 200 for yes. On no it returns the content of the response.
func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds %s: %s", url, response.Status, failedChecks(string(body)))
	}
	return nil
}

// failedChecks returns the lines of a health check's response that report what is wrong.
func failedChecks(body string) string {
	var failed []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	if len(failed) == 0 {
		return strings.TrimSpace(body)
	}
	return strings.Join(failed, "; ")
}

// newProber returns the client of all probes: it may be queried by servers of either CA. It keeps no connection, so that a response
// comes from the process that listens now. A server that makes its own certificate is not verified: only its clients in the cluster
// know the CA.
func newProber(pki string, selfManaged bool) (*http.Client, error) {
	config, err := clientTLS(pki, map[string]string{"ca": adminName, "etcd-ca": etcdClientName})
	if err != nil {
		return nil, err
	}
	config.InsecureSkipVerify = selfManaged
	return &http.Client{
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
		Timeout:   10 * time.Second,
	}, nil
}

// clientTLS returns the TLS configuration of a client that trusts the CAs in the directory and shows the certificate that is given
// for the server's CA.
func clientTLS(pki string, certificates map[string]string) (*tls.Config, error) {
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	for issuer, client := range certificates {
		ca, err := os.ReadFile(filepath.Join(pki, issuer+".crt"))
		if err != nil {
			return nil, err
		}
		config.RootCAs.AppendCertsFromPEM(ca)
		pair, err := readPair(pki, client)
		if err != nil {
			return nil, err
		}
		certificate, err := tls.X509KeyPair(pair.cert, pair.key)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", client, err)
		}
		config.Certificates = append(config.Certificates, certificate)
	}
	return config, nil
}
