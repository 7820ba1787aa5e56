// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// TestEncryptionAtRest checks that configured resources are encrypted in etcd and can be read, and that others are stored as
// protobuf.
func TestEncryptionAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := []string{"--embedded-etcd-dir=" + dir, "--encryption-provider-config=" + write(t, encryption(firstKey))}
	first := standalone(t, flags...)
	const marker = "a-text-that-is-easily-found"
	c := versioned.NewForConfigOrDie(first.config)
	kluster := klusterIn("team", "secret", "1.36.3")
	kluster.Spec.SSHPublicKey = marker
	if _, err := c.KubernikusV1().Klusters("team").Create(t.Context(), kluster, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Spec: gardenerv1beta1.ProjectSpec{Purpose: new(marker)}}
	if _, err := c.GardenerV1beta1().Projects().Create(t.Context(), project, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(dir, "etcd", "client.sock")}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	for key, want := range map[string]struct {
		start    string
		readable bool
	}{
		"/kubernikus.sap.cc/klusters/team/secret": {"k8s:enc:aesgcm:v1:first:", false},
		"/core.gardener.cloud/projects/open":      {"k8s\x00", true},
	} {
		found, err := etcd.Get(t.Context(), storePrefix+key)
		if err != nil || len(found.Kvs) != 1 {
			t.Fatalf("%s: %v, %v", key, found, err)
		}
		if value := found.Kvs[0].Value; !bytes.HasPrefix(value, []byte(want.start)) || bytes.Contains(value, []byte(marker)) != want.readable {
			t.Errorf("%s is stored as %q", key, value)
		}
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.exitCode()
	// The next key encrypts what is written from now on, and what the one before has encrypted stays readable.
	flags[1] = "--encryption-provider-config=" + write(t, encryption(`{name: next, secret: ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=}, `+firstKey))
	second := versioned.NewForConfigOrDie(standalone(t, flags...).config).KubernikusV1().Klusters("team")
	again, err := second.Get(t.Context(), "secret", metav1.GetOptions{})
	if err != nil || again.Spec.SSHPublicKey != marker {
		t.Fatalf("after a restart with another key: %v, %v", again, err)
	}
	again.Labels = map[string]string{"written": "again"}
	if _, err := second.Update(t.Context(), again, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := etcd.Get(t.Context(), storePrefix+"/kubernikus.sap.cc/klusters/team/secret")
	if err != nil || len(found.Kvs) != 1 || !bytes.HasPrefix(found.Kvs[0].Value, []byte("k8s:enc:aesgcm:v1:next:")) {
		t.Errorf("after a write with another key: %v, %v, want that it encrypts", found, err)
	}
}

const firstKey = `{name: first, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}`

// encryption is a configuration that encrypts Klusters by the first of some keys.
func encryption(keys string) string {
	return `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [klusters.kubernikus.sap.cc]
  providers:
  - aesgcm: {keys: [` + keys + `]}
  - identity: {}
`
}

// TestAuditLog checks that the audit log records requests according to the policy.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	s := standalone(t, "--embedded-etcd-dir="+t.TempDir(), "--audit-log-path="+log, "--audit-policy-file="+write(t, `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, verbs: [create], resources: [{group: kubernikus.sap.cc, resources: [klusters]}]}
- {level: None}
`))
	klusters := versioned.NewForConfigOrDie(s.config).KubernikusV1().Klusters("team")
	if _, err := klusters.Create(t.Context(), klusterIn("team", "audited", "1.36.3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := klusters.Get(t.Context(), "audited", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(context.Context) error {
		content, err := os.ReadFile(log)
		if err != nil || len(content) == 0 {
			return errors.Join(errors.New("nothing is logged"), err)
		}
		var event struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Namespace, Name string }
			ResponseStatus struct{ Code int }
			RequestObject  struct{ Spec struct{ Version string } }
		}
		if lines := strings.Count(string(content), "\n"); lines != 1 {
			return fmt.Errorf("%d lines: %s", lines, content)
		}
		if err := json.Unmarshal(content, &event); err != nil {
			return err
		}
		ref := event.ObjectRef
		if event.Verb != "create" || event.User.Username != "system:anonymous" || ref.Resource != "klusters" || ref.Namespace != "team" ||
			event.ResponseStatus.Code != 201 || event.RequestObject.Spec.Version != "1.36.3" {
			return fmt.Errorf("the event is %s", content)
		}
		return nil
	})
}

// TestTracing checks that the API server sends traces to the configured collector.
func TestTracing(t *testing.T) {
	t.Parallel()
	collector := listen(t)
	heard := make(chan string, 1)
	go func() {
		connection, err := collector.Accept()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		preface := make([]byte, len("PRI * HTTP/2.0"))
		if _, err := io.ReadFull(connection, preface); err == nil {
			heard <- string(preface)
		}
	}()
	s := standalone(t, "--embedded-etcd-dir="+t.TempDir(), "--tracing-config-file="+write(t, `
apiVersion: apiserver.config.k8s.io/v1
kind: TracingConfiguration
endpoint: `+collector.Addr().String()+`
samplingRatePerMillion: 1000000
`))
	if _, err := versioned.NewForConfigOrDie(s.config).MidonetV1().Translations("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case preface := <-heard:
		if preface != "PRI * HTTP/2.0" { // the start of gRPC
			t.Errorf("the collector hears %q", preface)
		}
	case <-time.After(time.Minute):
		t.Error("the collector hears nothing")
	}
}
