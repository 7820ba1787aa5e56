// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Endpoint is where a server listens.
type Endpoint struct {
	text             string
	network, address string
	secure           bool
}

// ParseEndpoint reads an endpoint as the tools of Open vSwitch write it: tcp:HOST:PORT, ssl:HOST:PORT or unix:PATH. An IPv6
// address is in brackets.
func ParseEndpoint(text string) (Endpoint, error) {
	scheme, address, _ := strings.Cut(text, ":")
	switch scheme {
	case "unix":
		if !filepath.IsAbs(address) {
			return Endpoint{}, fmt.Errorf("%q must have an absolute path: unix:/run/ovn/ovnnb_db.sock", text)
		}
		return Endpoint{text: text, network: "unix", address: address}, nil
	case "tcp", "ssl":
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return Endpoint{}, fmt.Errorf("%q must have a host and a port: %s:ovn.example.com:6641", text, scheme)
		}
		return Endpoint{text: text, network: "tcp", address: address, secure: scheme == "ssl"}, nil
	default:
		return Endpoint{}, fmt.Errorf("%q must begin with unix:, tcp: or ssl: and name what follows", text)
	}
}

// String returns the endpoint as configured.
func (e Endpoint) String() string { return e.text }

// dial connects, with TLS if the endpoint has it.
func (e Endpoint) dial(ctx context.Context, configure func() (*tls.Config, error)) (net.Conn, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, e.network, e.address)
	if err != nil || !e.secure {
		return connection, err
	}
	config, err := configure()
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(e.address)
	}
	secured := tls.Client(connection, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = connection.Close()
		return nil, err
	}
	return secured, nil
}

// Files are the files with what TLS needs. They are read for each connection, so that renewed certificates are used.
type Files struct {
	// CA holds the certificates that the server's must be signed by.
	CA string
	// Certificate and Key authenticate the client. Both may be empty.
	Certificate, Key string
	// AnyHost accepts a certificate without the name of the host that was connected to: those of ovs-pki have none.
	AnyHost bool
}

// Config returns the configuration of TLS that the files describe.
func (f Files) Config() (*tls.Config, error) {
	bundle, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("read the CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("%s has no certificate", f.CA)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if f.Certificate != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
		if err != nil {
			return nil, fmt.Errorf("load the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if f.AnyHost {
		config.InsecureSkipVerify = true //nolint:gosec // the chain is verified below; only the name of the host is not
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, roots) }
	}
	return config, nil
}

// verifyChain requires a certificate that one of the roots signed, whatever names it has.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}
