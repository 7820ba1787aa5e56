// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	cleanerName      = "groundskeeper-local-volume-node-cleanup"
	cleanerNamespace = "groundskeeper-system"
	cleanerUser      = "system:serviceaccount:" + cleanerNamespace + ":" + cleanerName
)

// cleanerPolicy records the requests of the drop-in and nothing else.
const cleanerPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["` + cleanerUser + `"]}
- {level: None}
`

// cleaner is the drop-in, as a dedicated process.
type cleaner struct {
	cmd  *exec.Cmd
	log  string
	once sync.Once
}

// cleanerReading is what the drop-in has used, and how many lines it has logged.
type cleanerReading struct {
	probe.Usage
	lines int
}

// startCleaner starts the drop-in with the permissions in artifacts/ and waits until it knows everything.
func startCleaner(ctx context.Context, p *plane.Plane, dir string) (*cleaner, error) {
	apply := exec.CommandContext(ctx, p.Kubectl(), "--kubeconfig", p.AdminKubeconfig(), "apply", "-f", "artifacts/local-volume/rbac.yaml", "-f", "artifacts/local-volume/state.yaml")
	if out, err := apply.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("kubectl apply: %w: %s", err, out)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := tokenKubeconfig(ctx, p, cleanerNamespace, cleanerName, kubeconfig); err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	c := &cleaner{log: filepath.Join(dir, cleanerName+".log")}
	file, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the process has its own handle
	c.cmd = exec.CommandContext(ctx, filepath.Join(filepath.Dir(p.Kubectl()), cleanerName),
		"--kubeconfig="+kubeconfig, "--storageclass-names="+benchClass, "--pvc-deletion-delay=1s", "--namespace="+cleanerNamespace, "--listen-address="+address)
	c.cmd.Stderr = file
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, cleanerTimeout, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return false, err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			return response.StatusCode == http.StatusOK, response.Body.Close()
		}
		return false, nil // it does not listen yet
	})
	if err != nil {
		content, _ := os.ReadFile(c.log)
		c.stop()
		return nil, fmt.Errorf("%s is not ready: %w: %s", cleanerName, err, content)
	}
	return c, nil
}

// tokenKubeconfig writes a kubeconfig with a token of a service account, as a pod has one: kube-apiserver checks a
// token once, and a certificate with every request.
func tokenKubeconfig(ctx context.Context, p *plane.Plane, namespace, account, path string) error {
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of %s/%s: %w", namespace, account, err)
	}
	config := api.NewConfig()
	config.Clusters["plane"] = &api.Cluster{Server: p.Config().Host, CertificateAuthorityData: p.CA()}
	config.AuthInfos[account] = &api.AuthInfo{Token: token.Status.Token}
	config.Contexts["plane"] = &api.Context{Cluster: "plane", AuthInfo: account}
	config.CurrentContext = "plane"
	return clientcmd.WriteToFile(*config, path)
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// stop ends the process; later calls do nothing.
func (c *cleaner) stop() {
	c.once.Do(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		_ = c.cmd.Wait()
	})
}

func (c *cleaner) reading() (cleanerReading, error) {
	used, err := probe.UsageOf(c.cmd.Process.Pid)
	if err != nil {
		return cleanerReading{}, err
	}
	content, err := os.ReadFile(c.log)
	return cleanerReading{Usage: used, lines: bytes.Count(content, []byte("\n"))}, err
}

// auditCounts are the requests of the drop-in: for events and others, and those responded with 403 or another 4xx.
type auditCounts struct{ events, others, forbidden, rejected int }

// readAudit counts the requests of the drop-in, from its start on.
func readAudit(path string) (auditCounts, error) {
	var counts auditCounts
	file, err := os.Open(path)
	if err != nil {
		return counts, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record struct {
			Stage, Verb    string
			User           struct{ Username string }
			ObjectRef      *struct{ Resource string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return counts, fmt.Errorf("%s: %w", path, err)
		}
		// A watch has two records: of its start, and of its end, which may not have come yet.
		if record.User.Username != cleanerUser || (record.Verb == "watch") != (record.Stage == "ResponseStarted") {
			continue
		}
		if record.ObjectRef != nil && record.ObjectRef.Resource == "events" {
			counts.events++
		} else {
			counts.others++
		}
		switch code := record.ResponseStatus.Code; {
		case code == http.StatusForbidden:
			counts.forbidden++
		case code >= 400 && code < 500:
			counts.rejected++
		}
	}
	if counts.others == 0 {
		return counts, errors.Join(errors.New("the audit log has no request of "+cleanerName), lines.Err())
	}
	return counts, lines.Err()
}
