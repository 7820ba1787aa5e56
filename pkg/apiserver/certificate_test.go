// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/certificates"
)

func TestValidateSelfManaged(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"alone":      {func(*Options) {}, nil},
		"with files": {func(o *Options) { o.SecureServing.ServerCert.CertKey.CertFile = "a" }, []string{"--tls-cert-file"}},
		"with a key": {func(o *Options) { o.SecureServing.ServerCert.CertKey.KeyFile = "a" }, []string{"--tls-private-key-file"}},
		"standalone": {func(o *Options) { o.Standalone = true }, []string{"--standalone"}},
	} {
		o := NewOptions()
		o.SelfManagedCertificates = true
		tc.change(o)
		errs := o.validateSelfManaged()
		if len(errs) != len(tc.want) {
			t.Errorf("%s: %v", name, errs)
			continue
		}
		for i, want := range tc.want {
			if !strings.Contains(errs[i].Error(), "--self-managed-certificates") || !strings.Contains(errs[i].Error(), want) {
				t.Errorf("%s: %v", name, errs[i])
			}
		}
	}
}

// Every APIService of the artifacts receives the CA.
func TestRegistrationsAreThoseOfTheArtifacts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "artifacts", "apiservice", "v*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	targets := registrations(known())
	if len(files) == 0 || len(targets) != len(files) {
		t.Fatalf("%d targets, files %v", len(targets), files)
	}
	permissions, err := os.ReadFile(filepath.Join("..", "..", "artifacts", "rbac", "apiserver.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, target := range targets {
		known[target.Name()] = true
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if !known[name] || !strings.Contains(string(permissions), name) {
			t.Errorf("APIService %s does not have the CA, or Groundskeeper has no permission to write it", name)
		}
	}
}

func TestServingCertificate(t *testing.T) {
	keeper := &certificates.Keeper{}
	certificate, key := servingCertificate{keeper}.CurrentCertKeyContent()
	if certificate != nil || key != nil || (servingCertificate{keeper}).Name() == "" {
		t.Error("there is a certificate that was not issued")
	}
}
