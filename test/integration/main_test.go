// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package integration tests Groundskeeper on a real control plane: etcd, kube-apiserver with the aggregator,
// kube-controller-manager, the Groundskeeper API servers and Groundskeeper's controller manager, as dedicated processes.
package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/test/permissions"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// shared is the plane of all tests that do not break one: two API servers on the plane's etcd, one manager, an audit log.
var shared *plane.Plane

// auditLog is where the shared kube-apiserver writes every write.
var auditLog string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	// By default as many tests run concurrently as there are CPUs; these tests mostly wait for other processes.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return 0, err
	}
	// They are for the compiler and for this process, which has read them. Processes that tests start run as shipped.
	for _, variable := range []string{"GOGC", "GOMEMLIMIT"} {
		if err := os.Unsetenv(variable); err != nil {
			return 0, err
		}
	}
	// Closing an httptest.Server cuts connections of http.DefaultTransport, those of other tests with it.
	http.DefaultClient.Transport = http.DefaultTransport.(*http.Transport).Clone()
	log.SetLogger(logr.Discard())
	roles, err := permissions.Load("../../artifacts")
	if err != nil {
		return 0, err
	}
	if used, err = permissions.NewUse(roles); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "integration")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return 0, err
	}
	auditLog = filepath.Join(dir, "audit.log")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	const keepHistory = "--etcd-compaction-interval=0" // it is needed for diagnosis
	shared, err = plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 2, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog, keepHistory, blocksOwners},
		APIServerFlags:     []string{keepHistory},
		GOGC:               gogc,
	})
	if err != nil {
		return 0, err
	}
	code := m.Run()
	readiness := checkReadiness(context.Background())
	if err := shared.Stop(context.Background()); err != nil {
		return 0, err
	}
	if err := errors.Join(readiness, checkPermissions(auditLog), used.Read(auditLog)); err != nil || code != 0 {
		return code, err
	}
	return code, checkPermissionsAreNeeded()
}

// auditPolicy records who wrote what, and everything that Groundskeeper's processes request; no content.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:groundskeeper-system", "system:serviceaccounts:gimbal"]}
- {level: None, verbs: [get, list, watch]}
- {level: Metadata}
`

// clientOf returns a client that knows Kubernetes' kinds and Groundskeeper's.
func clientOf(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	return clientWithMapper(t, config, nil)
}

// clientWithMapper is clientOf with the resources of a mapper. A client of a server that serves only Groundskeeper's groups needs one to
// send requests for other kinds. Without a mapper, the client discovers the resources of its server.
func clientWithMapper(t *testing.T, config *rest.Config, mapper meta.RESTMapper) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(scheme.AddToScheme(s))
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: s, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// admin returns an administrator's client of the shared plane.
func admin(t *testing.T) client.WithWatch { t.Helper(); return clientOf(t, shared.Config()) }

// as returns a client of the shared plane that impersonates a user.
func as(t *testing.T, user string, groups ...string) client.WithWatch {
	t.Helper()
	config := rest.CopyConfig(shared.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return clientOf(t, config)
}

// eventually waits until a condition holds, and reports its last complaint when it does not.
func eventually(t *testing.T, condition func(ctx context.Context) error) {
	t.Helper()
	var last error
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Many tests wait concurrently, and each attempt takes several processes some work: a test that waits for long tries less often.
	pause := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.25, Steps: math.MaxInt, Cap: 500 * time.Millisecond}
	err := pause.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		now := condition(ctx)
		// An attempt that was cut off by the end of the time has less information than the one before.
		if now == nil || last == nil || ctx.Err() == nil {
			last = now
		}
		return now == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// rare skips a test that "make test" leaves to "make test-integration": one that takes long, and whose subject few changes touch.
func rare(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-integration runs it")
	}
}

// rounds is how often a random test repeats: SOAK, or by default the number given.
func rounds(t *testing.T, byDefault int) int {
	t.Helper()
	return soaktest.Rounds(t, byDefault)
}

// name makes a name that no other test uses.
func name(t *testing.T, prefix string) string {
	t.Helper()
	return prefix + strconv.FormatInt(time.Now().UnixNano()%1e10, 36)
}
