// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/test/plane"
)

// seats are so few that a test can take all of a level.
const seats = "--max-requests-inflight=16"

// TestFairness checks that the requests of Groundskeeper's processes have separate levels at both servers, and that the manager
// renews its Lease and reads Groundskeeper's objects while another account has taken every seat of the level of service accounts.
func TestFairness(t *testing.T) {
	t.Parallel()
	p, err := startAudited(t.Context(), t, plane.Options{
		Dir: t.TempDir(), APIServers: 1, Managers: 1, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{seats, "--max-mutating-requests-inflight=8"}, APIServerFlags: []string{seats, "--max-mutating-requests-inflight=8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	admin, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("levels", func(t *testing.T) { hasLevels(t, p, admin) })

	const rogue = "system:serviceaccount:default:rogue"
	allow(t, p, rogue, rbacv1.PolicyRule{APIGroups: []string{"", "midonet.org"}, Resources: []string{"configmaps", "translations"}, Verbs: []string{"create"}})
	servers := map[string]string{p.Config().Host: "/api/v1/namespaces/default/configmaps", p.DirectConfig(0).Host: "/apis/midonet.org/v1/namespaces/default/translations"}
	for host, path := range servers {
		config := configOf(t, p, rogue)
		config.Host = host
		occupy(t, config, path)
	}
	for _, config := range []*rest.Config{p.Config(), p.DirectConfig(0)} {
		c, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func(ctx context.Context) error { return waits(ctx, c, "service-accounts") })
	}

	lease := func(ctx context.Context) (string, error) {
		l, err := admin.CoordinationV1().Leases("groundskeeper-system").Get(ctx, "groundskeeper-controller-manager", metav1.GetOptions{})
		if err != nil || l.Spec.RenewTime == nil {
			return "", errors.Join(err, errors.New("the Lease has no time"))
		}
		return l.Spec.RenewTime.String(), nil
	}
	renewed, err := lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		eventually(t, func(ctx context.Context) error {
			now, err := lease(ctx)
			if err == nil && now == renewed {
				err = fmt.Errorf("the Lease has not been renewed since %s", renewed)
			}
			renewed = now
			return err
		})
	}
	manager, err := kubernetes.NewForConfig(configOf(t, p, "system:serviceaccount:groundskeeper-system:groundskeeper-controller-manager"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manager.RESTClient().Get().AbsPath("/apis/midonet.org/v1/translations").DoRaw(t.Context()); err != nil {
		t.Errorf("the manager lists Translations: %v", err)
	}
}

// hasLevels checks the level of requests by the header of responses.
func hasLevels(t *testing.T, p *plane.Plane, admin kubernetes.Interface) {
	t.Helper()
	const own = "system:serviceaccount:groundskeeper-system:groundskeeper-"
	for _, test := range []struct{ user, method, path, body, level string }{
		{own + "controller-manager", http.MethodGet, "/api/v1/namespaces", "", "workload-high"},
		{own + "controller-manager", http.MethodGet, "/apis/midonet.org/v1/translations", "", "workload-high"},
		{own + "controller-manager", http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/groundskeeper-system/leases/groundskeeper-controller-manager", "", "leader-election"},
		{own + "apiserver", http.MethodGet, "/api/v1/namespaces", "", "workload-high"},
		{own + "apiserver", http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", `{"spec":{"user":"a","nonResourceAttributes":{"path":"/","verb":"get"}}}`, "exempt"},
		{own + "apiserver", http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"a"}}`, "exempt"},
		{"system:serviceaccount:gimbal-discovery:a-discoverer", http.MethodGet, "/api/v1/namespaces", "", "workload-high"},
		{"system:serviceaccount:default:a-discoverer", http.MethodGet, "/api/v1/namespaces", "", "workload-low"},
	} {
		client, err := rest.HTTPClientFor(configOf(t, p, test.user))
		if err != nil {
			t.Fatal(err)
		}
		// The server receives FlowSchemas by a watch.
		eventually(t, func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, test.method, p.Config().Host+test.path, strings.NewReader(test.body))
			if err != nil {
				return err
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			uid := response.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
			level, err := admin.FlowcontrolV1().PriorityLevelConfigurations().Get(ctx, test.level, metav1.GetOptions{})
			if err == nil && string(level.UID) != uid {
				err = fmt.Errorf("%s of %s: level %s, want that of %s, %s", test.path, test.user, uid, test.level, level.UID)
			}
			return err
		})
	}
}

// configOf returns the configuration of a client for a service account.
func configOf(t *testing.T, p *plane.Plane, account string) *rest.Config {
	t.Helper()
	config, err := p.ConfigFor(account, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// allow gives an account permissions in all namespaces.
func allow(t *testing.T, p *plane.Plane, account string, rule rbacv1.PolicyRule) {
	t.Helper()
	c := clientOf(t, p.Config())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "rogue"}, Rules: []rbacv1.PolicyRule{rule}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "rogue"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "rogue"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}}}
	if err := errors.Join(c.Create(t.Context(), role), c.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
}

// occupy sends requests whose bodies do not end until the test does: each keeps its seat.
func occupy(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	config.NextProtos = []string{"http/1.1"} // a connection for each
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		body, writer := io.Pipe()
		t.Cleanup(func() { _ = writer.Close() })
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.Host+path, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		go func() {
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
			}
		}()
	}
}

// waits returns an error until requests of a FlowSchema wait for a seat.
func waits(ctx context.Context, c kubernetes.Interface, schema string) error {
	metrics, err := c.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^apiserver_flowcontrol_current_inqueue_requests\{flow_schema="` + schema + `",.*\} [1-9]`).Match(metrics) {
		return errors.New("no request waits: the level has free seats")
	}
	return nil
}
