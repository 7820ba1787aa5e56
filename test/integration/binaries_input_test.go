// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// badInput is a command line of a binary that cannot work. The last line that it writes has all of want in it.
type badInput struct {
	args []string
	want []string
}

// TestBadInput checks that mistakes on the command line, in files and with servers end the process with one line that names the
// mistake and its location.
func TestBadInput(t *testing.T) {
	t.Parallel()
	in := newBadInputs(t)
	for binary, inputs := range map[string]map[string]badInput{apiserver: in.ofAPIServer(t), manager: in.ofManager()} {
		for title, input := range inputs {
			t.Run(binary+"/"+title, func(t *testing.T) {
				t.Parallel()
				// Servers that do not respond are waited for, half a minute at most.
				ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
				defer cancel()
				process := start(t, ctx, binary, input.args...)
				if code := process.exitCode(); code != 1 {
					t.Errorf("exit code %d; it wrote\n%s", code, strings.Join(process.stderr.lines(), "\n"))
				}
				last := process.stderr.last()
				if !strings.HasPrefix(strings.ToLower(last), "error: ") {
					t.Errorf("the last line is no error: %s", last)
				}
				for _, want := range input.want {
					if !strings.Contains(last, want) {
						t.Errorf("the error does not report %q: %s", want, last)
					}
				}
			})
		}
	}
}

// A port that no client listens on.
const unusedPort = "1"

// badInputs has what the command lines mention.
type badInputs struct {
	dir string
	// A port that is taken.
	user string
	// used is the directory of an embedded etcd that runs.
	used string
	// unreachable and stranger are kubeconfigs: of a server that does not respond, and of a user who has no permissions.
	unreachable, stranger string
}

func newBadInputs(t *testing.T) badInputs {
	t.Helper()
	in := badInputs{dir: t.TempDir(), user: portOf(listen(t)), used: t.TempDir()}
	served := standalone(t, "--embedded-etcd-dir="+in.used)
	t.Cleanup(func() { _ = served.cmd.Process.Kill() })
	in.stranger, in.unreachable = filepath.Join(in.dir, "stranger"), filepath.Join(in.dir, "unreachable")
	if err := shared.KubeconfigFor(in.stranger, "stranger"); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(in.stranger)
	if err != nil {
		t.Fatal(err)
	}
	in.file(t, "unreachable", strings.ReplaceAll(string(kubeconfig), shared.KubeAPIServer.Address(), "127.0.0.1:"+unusedPort))
	in.file(t, "plain", "")
	in.file(t, "encryption", "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{rot13: {}}]}]\n")
	const kind = "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"
	in.file(t, "unknown.yaml", kind+"controllers:\n  project:\n    concurentSyncs: 5\n")
	in.file(t, "twice.yaml", kind+"log: {level: info}\nlog: {level: info}\n")
	in.file(t, "value.yaml", kind+"controllers:\n  project:\n    concurrentSyncs: -1\n")
	in.file(t, "type.yaml", kind+"leaderElection: {leaseDuration: soon}\n")
	in.file(t, "kind.yaml", strings.ReplaceAll(kind, "Manager", "Janitor"))
	in.file(t, "broken.yaml", kind+"log: {\n")
	return in
}

func (in badInputs) file(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(in.path(name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (in badInputs) path(name string) string { return filepath.Join(in.dir, name) }

func (in badInputs) ofAPIServer(t *testing.T) map[string]badInput {
	t.Helper()
	hosted := func(flags ...string) []string { return append(onLoopback(freePort(t)), flags...) }
	alone := func(flags ...string) []string { return append(hosted("--standalone"), flags...) }
	own := "--embedded-etcd-dir=" + in.path("own")
	etcd := []string{"--etcd-cafile=" + pki(shared, "etcd-ca.crt"), "--etcd-servers=" + shared.EtcdEndpoint()}
	return map[string]badInput{
		"unknown flag":             {[]string{"--colour=green"}, []string{"unknown flag: --colour"}},
		"unknown argument":         {[]string{"serve"}, []string{`"serve"`}},
		"unknown feature":          {alone(own, "--feature-gates=Magic=true"), []string{"feature gate: Magic"}},
		"unknown admission plugin": {hosted(own, "--kubeconfig="+in.stranger, "--disable-admission-plugins=Magic"), []string{"disable-admission-plugins", `"Magic"`}},
		"no etcd":                  {hosted("--kubeconfig=" + in.stranger), []string{"--etcd-servers", "--embedded-etcd-dir"}},
		"two etcds":                {alone(own, "--etcd-servers=http://127.0.0.1:"+unusedPort), []string{"--etcd-servers", "--embedded-etcd-dir", "exclude each other"}},
		"etcd does not respond":    {hosted("--kubeconfig="+shared.AdminKubeconfig(), "--etcd-servers=http://127.0.0.1:"+unusedPort), []string{"--etcd-servers", "http://127.0.0.1:" + unusedPort}},
		"etcd does not respond, standalone": {alone("--etcd-servers=http://127.0.0.1:" + unusedPort),
			[]string{"--etcd-servers", "http://127.0.0.1:" + unusedPort}},
		"etcd wants a certificate":      {alone(etcd...), []string{"--etcd-servers", shared.EtcdEndpoint()}},
		"etcd directory cannot be made": {alone("--embedded-etcd-dir=" + in.path("plain/etcd")), []string{"--embedded-etcd-dir", in.path("plain/etcd"), "not a directory"}},
		"etcd directory is in use":      {alone("--embedded-etcd-dir=" + in.used), []string{"--embedded-etcd-dir", in.used, "another process"}},
		"port is taken":                 {append(onLoopback(in.user), "--standalone", own+"-port"), []string{"--secure-port " + in.user, "address already in use"}},
		"port is none":                  {alone(own, "--secure-port=70000"), []string{"--secure-port", "70000"}},
		"port is 0":                     {alone(own, "--secure-port=0"), []string{"--secure-port", "0"}},
		"key of another certificate":    {alone(own, "--tls-cert-file="+pki(shared, "etcd.crt"), "--tls-private-key-file="+pki(shared, "ca.key")), []string{"--tls-cert-file", "--tls-private-key-file", pki(shared, "ca.key"), "does not match"}},
		"certificate is missing":        {alone(own, "--tls-cert-file="+in.path("none"), "--tls-private-key-file="+pki(shared, "ca.key")), []string{"--tls-cert-file", in.path("none"), "no such file"}},
		"kubeconfig is missing":         {hosted(own, "--kubeconfig="+in.path("none")), []string{"--kubeconfig", in.path("none"), "no such file"}},
		"kubeconfig is none":            {hosted(own, "--kubeconfig="+in.path("plain")), []string{"--kubeconfig", in.path("plain")}},
		"no kubeconfig, not a pod":      {hosted(own), []string{"--kubeconfig", "not a pod"}},
		"host does not respond":         {hosted(own+"-host", "--kubeconfig="+in.unreachable), []string{"--kubeconfig", "127.0.0.1:" + unusedPort}},
		"no permissions":                {hosted(append(etcd, "--etcd-certfile="+pki(shared, "etcd-client.crt"), "--etcd-keyfile="+pki(shared, "etcd-client.key"), "--kubeconfig="+in.stranger)...), []string{"groundskeeper-store", "stranger", "cannot get"}},
		"standalone for everybody":      {[]string{"--standalone", own, "--bind-address=0.0.0.0"}, []string{"--standalone", "--bind-address", "0.0.0.0"}},
		"encryption file is missing":    {alone(own+"-missing", "--encryption-provider-config="+in.path("none")), []string{"--encryption-provider-config", in.path("none"), "no such file"}},
		"encryption that does not exist": {alone(own+"-rot13", "--encryption-provider-config="+in.path("encryption")),
			[]string{"--encryption-provider-config", "rot13"}},
		"audit policy is missing":   {alone(own+"-audit", "--audit-policy-file="+in.path("none"), "--audit-log-path="+in.path("log")), []string{"--audit-policy-file", in.path("none"), "no such file"}},
		"tracing file is missing":   {alone(own, "--tracing-config-file="+in.path("none")), []string{"tracing-config-file", in.path("none")}},
		"unknown storage format":    {alone(own, "--storage-media-type=text/plain"), []string{"--storage-media-type", "text/plain"}},
		"two mistakes at one time":  {[]string{"--standalone", "--bind-address=0.0.0.0"}, []string{"--etcd-servers", "--bind-address"}},
		"a flag without its number": {alone(own, "--delete-collection-workers=many"), []string{"--delete-collection-workers", "many"}},
	}
}

func (in badInputs) ofManager() map[string]badInput {
	config := func(name string) []string {
		return []string{"--config=" + in.path(name), "--kubeconfig=" + in.stranger}
	}
	return map[string]badInput{
		"unknown flag":             {[]string{"--colour=green"}, []string{"unknown flag: --colour"}},
		"unknown argument":         {[]string{"run"}, []string{`"run"`}},
		"kubeconfig is missing":    {[]string{"--kubeconfig=" + in.path("none")}, []string{"kubeconfig", in.path("none"), "no such file"}},
		"kubeconfig is none":       {[]string{"--kubeconfig=" + in.path("plain")}, []string{"kubeconfig", in.path("plain")}},
		"no kubeconfig, not a pod": {nil, []string{"--kubeconfig", "not a pod"}},
		"host does not respond":    {[]string{"--kubeconfig=" + in.unreachable, "--health-address=127.0.0.1:0", "--webhook-address=127.0.0.1:0"}, []string{"127.0.0.1:" + unusedPort, "refused"}},
		"port is taken":            {[]string{"--kubeconfig=" + in.stranger, "--health-address=127.0.0.1:" + in.user}, []string{"server.health", "127.0.0.1:" + in.user, "address already in use"}},
		"address is none":          {[]string{"--kubeconfig=" + in.stranger, "--health-address=here"}, []string{"--health-address", `"here"`}},
		"configuration is missing": {config("none"), []string{"--config", in.path("none"), "no such file"}},
		"unknown field":            {config("unknown.yaml"), []string{in.path("unknown.yaml"), "line 5", `unknown field "controllers.project.concurentSyncs"`}},
		"doubled field":            {config("twice.yaml"), []string{in.path("twice.yaml"), "line 4", "log"}},
		"bad value":                {config("value.yaml"), []string{in.path("value.yaml"), "line 5", "controllers.project.concurrentSyncs", "-1"}},
		"bad type":                 {config("type.yaml"), []string{in.path("type.yaml"), "line 3", "leaderElection.leaseDuration", "soon"}},
		"another kind":             {config("kind.yaml"), []string{in.path("kind.yaml"), "line 2", "kind", "ControllerJanitorConfiguration"}},
		"no YAML":                  {config("broken.yaml"), []string{in.path("broken.yaml"), "line"}},
	}
}
