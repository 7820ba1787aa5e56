// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// TestWebhookFilesByFlags checks that flags take precedence over the configuration, so that it need not contain the mounted paths.
func TestWebhookFilesByFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const content = "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n" +
		"server: {webhooks: {port: 9443, certificates: {mode: Files, certFile: /its.crt, keyFile: /its.key}}}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{"", file} {
		o := NewOptions()
		o.ConfigFile, o.WebhookCertFile, o.WebhookKeyFile = config, "/tls.crt", "/tls.key"
		if err := o.Complete(); err != nil {
			t.Fatal(err)
		}
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
		want := v1alpha1.CertificatesConfiguration{Mode: v1alpha1.CertificatesFiles, CertFile: "/tls.crt", KeyFile: "/tls.key"}
		if got := o.config.Server.Webhooks.Certificates; got != want {
			t.Errorf("configuration %q: %+v, want %+v", config, got, want)
		}
		if port := *o.config.Server.Webhooks.Port; config != "" && port != 9443 {
			t.Errorf("the port is %d", port)
		}
	}
	o := NewOptions()
	o.WebhookCertFile = "/tls.crt"
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "keyFile") {
		t.Errorf("a certificate without a key: %v", err)
	}
}
