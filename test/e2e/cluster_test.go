// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

// auditPolicy records what Groundskeeper's servers and discoverers request: by the accounts of their pods here, as users of the
// group there.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:groundskeeper-system", "system:serviceaccounts:gimbal-discovery", "discoverers"]}
- {level: None}
`

// cluster is a plane with a client and an audit log.
type cluster struct {
	*plane.Plane
	client.WithWatch
	audit string
}

func start(ctx context.Context, options plane.Options) (*cluster, error) {
	c := &cluster{audit: options.Dir + "-audit.log"}
	policy := options.Dir + "-audit-policy.yaml"
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	options.UnsafeNoFsync = true
	options.Progress = func(line string) { fmt.Println(line) }
	options.KubeAPIServerFlags = append(options.KubeAPIServerFlags, "--audit-policy-file="+policy, "--audit-log-path="+c.audit)
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(scheme.AddToScheme(s))
	var err error
	if c.Plane, err = plane.Start(ctx, options); err != nil {
		return nil, err
	}
	c.WithWatch, err = client.NewWithWatch(c.Config(), client.Options{Scheme: s})
	return c, err
}

// enforce sets the standard of the pods in a namespace.
func (c *cluster) enforce(ctx context.Context, namespace, level string) error {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%q}}}`, level)
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// requests returns those in the audit log that the function picks.
func (c *cluster) requests(t *testing.T, pick func(audit.Event) bool) []audit.Event {
	t.Helper()
	var picked []audit.Event
	for event, err := range audit.Read(c.audit) {
		if err != nil {
			t.Fatal(err)
		}
		if pick(event) {
			picked = append(picked, event)
		}
	}
	return picked
}

// kubectl runs kubectl as the administrator.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.Kubectl(), append([]string{"--kubeconfig", c.AdminKubeconfig()}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return string(out)
}

// eventually waits until a condition holds, and reports its last complaint when it does not.
func eventually(t *testing.T, condition func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 90*time.Second, true, func(ctx context.Context) (bool, error) {
		now := condition(ctx)
		if now == nil || last == nil || ctx.Err() == nil { // one that was cut off has less information than the one before
			last = now
		}
		return now == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// change edits an object.
func change[T client.Object](t *testing.T, c *cluster, object T, edit func(T)) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		edit(object)
		return c.Update(ctx, object)
	})
}

func create(t *testing.T, c *cluster, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
