// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// on returns a command with objects in the cluster, whose lists of some kinds fail, and what it prints.
func on(t *testing.T, fails map[string]error, objects ...client.Object) (*command, *bytes.Buffer) {
	t.Helper()
	s := kubetest.Build(t, func(b *fake.ClientBuilder) {
		b.WithIndex(&corev1.Secret{}, "type", func(object client.Object) []string { return []string{string(object.(*corev1.Secret).Type)} })
		b.WithIndex(&kubernikusv1.Kluster{}, metav1.ObjectNameField, func(object client.Object) []string { return []string{object.GetName()} })
	}, objects...)
	s.Read = func(_ string, object runtime.Object) error {
		_, kind, _ := strings.Cut(fmt.Sprintf("%T", object), ".")
		return fails[kind]
	}
	var out bytes.Buffer
	return &command{out: &terminal{Writer: &out}, clock: clocktesting.NewFakePassiveClock(noon), config: &clientcmd.DefaultClientConfig, client: s.Live()}, &out
}

var (
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "klusters"}, "", errors.New("no"))
	errNoMatch   = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "kubernikus.sap.cc", Kind: "Kluster"}}
)

// stalled is a Kluster that needs a user, ready one that does not.
func stalled() client.Object {
	k := klusterWith("web", condition("Ready", "False", "SecretMissing", "create it"), condition("Stalled", "True", "SecretMissing", "create it"))
	for i := range k.Status.Conditions {
		k.Status.Conditions[i].LastTransitionTime = *at(0) // it does not wait for a controller yet
	}
	return k
}

func ready() client.Object { return klusterWith("api", condition("Ready", "True", "Ready", "")) }

func readyProject() gardenerv1beta1.ProjectStatus {
	return gardenerv1beta1.ProjectStatus{Conditions: []gardenerv1beta1.Condition{{Type: "Ready", Status: "True"}}}
}

func klusterWith(name string, list ...metav1.Condition) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: name}, Status: kubernikusv1.KlusterStatus{Conditions: list}}
}

// TestWhyNamesTheIdleController checks that a Kluster that no controller deorbits is not reported as one that nothing blocks.
func TestWhyNamesTheIdleController(t *testing.T) {
	c, out := on(t, nil, &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web", DeletionTimestamp: at(-time.Hour), Finalizers: []string{kubernikusv1.DeorbiterFinalizer},
	}})
	const want = "no controller reconciles it: the controller manager does not work: there is no Lease"
	if err := c.why(t.Context(), kinds()[1], "web", ""); !errors.Is(err, errFindings) || !strings.Contains(out.String(), want) {
		t.Errorf("error = %v, output = %s, want %q in it", err, out, want)
	}
}

// TestStatusResult checks that findings and failed checks have different results.
func TestStatusResult(t *testing.T) {
	for name, test := range map[string]struct {
		fails   map[string]error
		objects []client.Object
		code    int
		prints  string
	}{
		"nothing":     {prints: "Klusters                0"},
		"finding":     {objects: []client.Object{stalled()}, code: 1, prints: "! garden-shop/web                SecretMissing: create it"},
		"not allowed": {fails: map[string]error{"KlusterList": errForbidden}, code: 2, prints: "you are not allowed to list Klusters in namespace garden-shop"},
		"only information": {objects: []client.Object{klusterWith("web", condition("Ready", "True", "Ready", ""), condition("Paused", "True", "Annotated", "manually"))},
			prints: "Klusters                1  ok\n  · garden-shop/web                is paused: manually"},
		"finding and not": {fails: map[string]error{"TranslationList": errForbidden}, objects: []client.Object{stalled()}, code: 2, prints: "SecretMissing"},
		"one not served":  {fails: map[string]error{"KlusterList": errNoMatch}, prints: "Translations"},
		"none served": {fails: map[string]error{"KlusterList": errNoMatch, "TranslationList": errNoMatch, "DiscoveryBackendList": errNoMatch},
			code: 2, prints: "is not installed"},
	} {
		c, out := on(t, test.fails, test.objects...)
		state, err := c.inspect(t.Context(), "garden-shop")
		if err == nil {
			c.printReport(state)
			err = result(state)
		}
		code, text := ExitCode(t.Context(), explained(err))
		if got := out.String() + text; code != test.code || !strings.Contains(got, test.prints) {
			t.Errorf("%s: exit code %d, want %d; printed %q, want %q in it", name, code, test.code, got, test.prints)
		}
	}
}

func TestOutput(t *testing.T) {
	c, out := on(t, nil, stalled())
	state, err := c.inspect(t.Context(), "garden-shop")
	if err != nil {
		t.Fatal(err)
	}
	want := report.Finding{Kind: "Klusters", Namespace: "garden-shop", Name: "web", Level: "Warning", Message: "SecretMissing: create it"}
	if err := output("json").write(c.out, state, nil); err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || !slices.Equal(got.Findings, []report.Finding{want}) {
		t.Errorf("findings = %+v, %v, want %+v", got.Findings, err, want)
	}
	out.Reset()
	if err := output("yaml").write(c.out, state, nil); err != nil || !strings.Contains(out.String(), "  level: Warning\n") {
		t.Errorf("YAML = %q, %v", out, err)
	}
	if err := output("wide").check(); err == nil || !strings.Contains(err.Error(), `--output: "wide" is not json or yaml`) {
		t.Errorf("error = %v, want the flag", err)
	}
}

// TestWhyNamespace checks that a namespace is explained by its conditions, Groundskeeper's objects in it, and its Project.
func TestWhyNamespace(t *testing.T) {
	namespace := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "garden-shop", DeletionTimestamp: at(-time.Minute * 5), Finalizers: []string{"example.com/hold"},
			Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"}},
		Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{
			{Type: corev1.NamespaceDeletionDiscoveryFailure, Status: corev1.ConditionTrue, Message: "metrics.k8s.io/v1beta1"},
			{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "klusters has 1"},
			{Type: corev1.NamespaceDeletionContentFailure, Status: corev1.ConditionFalse, Message: "hidden"},
		}},
	}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: gardenerv1beta1.ProjectStatus{Phase: gardenerv1beta1.ProjectReady, Conditions: []gardenerv1beta1.Condition{{Type: "Ready", Status: "True"}}, StaleSinceTimestamp: at(-72 * time.Hour)}}
	c, out := on(t, nil, namespace, project, ready(), stalled())
	err := c.why(t.Context(), namespaceKind(), "garden-shop", "")
	if !errors.Is(err, errFindings) {
		t.Errorf("error = %v, want findings", err)
	}
	for _, want := range []string{
		"! garden-shop                    an API of the cluster is unavailable, and blocks the deletion of every namespace: metrics.k8s.io/v1beta1",
		"~ garden-shop                    NamespaceContentRemaining: klusters has 1", "is blocked by the finalizer example.com/hold",
		"~ garden-shop/api                still exists", "! garden-shop/web                SecretMissing", "· shop                           is unused for 3 days",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed\n%s\nwant %q in it", out, want)
		}
	}
	if strings.Contains(out.String(), "hidden") {
		t.Errorf("printed a condition that is false:\n%s", out)
	}
}

// Errors of client libraries are completed with a remedy.
func TestExplainedForUsers(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	dir := t.TempDir()
	kubeconfig := func(args clientcmd.ClientConfigLoadingRules, overrides clientcmd.ConfigOverrides) error {
		c := &command{config: clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&args, &overrides)}
		return c.connect()
	}
	missing := filepath.Join(dir, "missing")
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no kubeconfig":      {kubeconfig(clientcmd.ClientConfigLoadingRules{}, clientcmd.ConfigOverrides{}), "there is no kubeconfig: set KUBECONFIG, or pass --kubeconfig"},
		"missing file":       {kubeconfig(clientcmd.ClientConfigLoadingRules{ExplicitPath: missing}, clientcmd.ConfigOverrides{}), "cannot use the kubeconfig"},
		"unknown context":    {kubeconfig(clientcmd.ClientConfigLoadingRules{}, clientcmd.ConfigOverrides{CurrentContext: "x"}), "kubectl config get-contexts"},
		"wrong token":        {fmt.Errorf("list: %w", apierrors.NewUnauthorized("Unauthorized")), "the cluster rejects your credentials"},
		"not installed":      {errNoMatch, "Groundskeeper is not installed"},
		"connection refused": {fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "https://x", Err: errors.New("refused")}), "the cluster does not respond"},
		"server error":       {apierrors.NewGenericServerResponse(http.StatusConflict, "get", schema.GroupResource{}, "x", "changed", 0, true), "conflict"},
	} {
		if got := explained(test.err); got == nil || !strings.Contains(got.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q in it", name, got, test.want)
		}
	}
}

// TestKubeconfigOfTheEnvironment checks that an error names the file of KUBECONFIG that does not exist.
func TestKubeconfigOfTheEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	if err := kubeconfigError(clientcmd.ErrEmptyConfig); !strings.Contains(err.Error(), "KUBECONFIG is /does/not/exist, which is empty or does not exist") {
		t.Errorf("error = %v", err)
	}
}

func TestExitCode(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		code int
		text string
	}{
		"done":             {t.Context(), nil, 0, ""},
		"findings":         {t.Context(), errFindings, 1, ""},
		"declined":         {t.Context(), errDeclined, 1, "nothing was changed"},
		"blocked":          {t.Context(), errBlocked, 1, "Nothing was changed"},
		"failed":           {t.Context(), errors.New("no response"), 2, "no response"},
		"interrupted":      {canceled, fmt.Errorf("get: %w", context.Canceled), 130, "interrupted"},
		"done immediately": {canceled, nil, 0, ""},
	} {
		if code, text := ExitCode(test.ctx, test.err); code != test.code || (text == "") != (test.text == "") || !strings.Contains(text, test.text) {
			t.Errorf("%s: exit code %d, %q, want %d, %q", name, code, text, test.code, test.text)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		fails map[string]error
		want  []string
	}{
		"no manager":      {nil, []string{"API of Klusters            ok", "there is no Lease groundskeeper-system/groundskeeper-controller-manager"}},
		"forbidden":       {map[string]error{"KlusterList": errForbidden}, []string{"API of Klusters            ok"}},
		"unavailable API": {map[string]error{"KlusterList": apierrors.NewServiceUnavailable("no endpoints")}, []string{"API of Klusters            no endpoints"}},
	} {
		c, out := on(t, test.fails)
		if err := c.check(t.Context(), 0, ""); !errors.Is(err, errFindings) {
			t.Errorf("%s: error = %v, want findings", name, err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: printed\n%s\nwant %q in it", name, out, want)
			}
		}
	}
}

func TestDocumentVersion(t *testing.T) {
	for document, want := range map[string]string{
		`{"info":{"title":"Groundskeeper","version":"v1.2.3"}}`: "v1.2.3", `{"info":{"title":"Gardener","version":"v1.100.0"}}`: "", "no JSON": "",
	} {
		if got := documentVersion([]byte(document)); got != want {
			t.Errorf("version of %s = %q, want %q", document, got, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	c, _ := on(t, nil, stalled())
	c.config = clientcmd.NewDefaultClientConfig(*clientcmdConfig("garden-shop"), &clientcmd.ConfigOverrides{})
	cmd := newWhy(c)
	cmd.SetContext(t.Context())
	for begun, want := range map[string]string{
		"":         "project/ kluster/ discoverybackend/ translation/ namespace/ pod/ service/ node/ persistentvolumeclaim/ persistentvolume/ httpproxy/ ingressroute/ httproute/ grpcroute/ tcproute/ tlsroute/ udproute/ ingress/",
		"kluster/": "kluster/web", "kl/w": "kl/web", "pod/": "",
	} {
		if got, _ := cmd.ValidArgsFunction(cmd, nil, begun); strings.Join(got, " ") != want {
			t.Errorf("completions of %q = %q, want %q", begun, got, want)
		}
	}
	names := c.completeNames(klustersTitle)
	for begun, want := range map[string]string{"": "web", "kluster/": "kluster/web"} {
		if got, _ := names(cmd, nil, begun); strings.Join(got, " ") != want {
			t.Errorf("completions of %q = %q, want %q", begun, got, want)
		}
	}
}

// The flags for the cluster and the user are those of kubectl.
func TestFlagsOfKubectl(t *testing.T) {
	root := New(os.Stdin, os.Stdout)
	for _, name := range []string{"as", "as-group", "as-uid", "cluster", "context", "kubeconfig", "namespace", "request-timeout", "server", "token", "user"} {
		if root.PersistentFlags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

func clientcmdConfig(namespace string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters["it"], config.Contexts["it"], config.CurrentContext = &clientcmdapi.Cluster{Server: "https://localhost"}, &clientcmdapi.Context{Cluster: "it", Namespace: namespace}, "it"
	return config
}
