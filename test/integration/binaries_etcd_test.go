// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/embed"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// TestServerWithUsersOfEtcd checks that an API server writes, and reads after a restart, as a user of etcd with the documented
// permissions, and reports no missing one, and that a server with another user is never ready and reports why.
func TestServerWithUsersOfEtcd(t *testing.T) {
	t.Parallel()
	etcd, users := etcdtest.RunWithUsers(t, map[string]string{"groundskeeper": storePrefix + "/", "other": "/registry/"})
	flags := func(user string) []string {
		files := users.Of(t, user)
		return []string{"--etcd-servers=" + strings.Join(etcd.Endpoints(), ","), "--etcd-cafile=" + files.TrustedCAFile,
			"--etcd-certfile=" + files.CertFile, "--etcd-keyfile=" + files.KeyFile, "--etcd-compaction-interval=0"}
	}
	for lives := range 2 {
		s := standalone(t, flags("groundskeeper")...)
		c := versioned.NewForConfigOrDie(s.config)
		kluster := klusterIn("team", fmt.Sprintf("life-%d", lives), "1.36.3")
		if _, err := c.KubernikusV1().Klusters("team").Create(t.Context(), kluster, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("life-%d", lives)}} // its namespace is reserved
		if _, err := c.GardenerV1beta1().Projects().Create(t.Context(), project, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if list, err := c.KubernikusV1().Klusters("team").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != lives+1 {
			t.Errorf("life %d: list = %v, %v, want %d objects", lives, list, err, lives+1)
		}
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.exitCode()
		for _, line := range s.stderr.lines() {
			if strings.Contains(line, "denied") {
				t.Errorf("life %d: logged %q", lives, line)
			}
		}
	}
	port := freePort(t)
	refused := start(t, t.Context(), apiserver, append(append(onLoopback(port), "--standalone"), flags("other")...)...)
	eventually(t, func(context.Context) error {
		if log := strings.Join(refused.stderr.lines(), "\n"); !strings.Contains(log, "permission denied") {
			return fmt.Errorf("the log does not report the missing permission: %s", log)
		}
		return nil
	})
}

// TestServerWithFullEtcd checks that an API server whose etcd has used up its quota starts, serves reads, and reports it by its readiness.
func TestServerWithFullEtcd(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Run(t, func(c *embed.Config) { c.QuotaBackendBytes = 4 << 20 })
	for i := 0; ; i++ {
		if _, err := etcd.Put(t.Context(), fmt.Sprintf("/elsewhere/%d", i), strings.Repeat("x", 512<<10)); errors.Is(err, rpctypes.ErrNoSpace) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	config := &rest.Config{Host: "https://127.0.0.1:" + port, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	flags := []string{"--standalone", "--etcd-servers=" + etcd.Endpoints()[0], "--etcd-compaction-interval=0"}
	start(t, t.Context(), apiserver, append(onLoopback(port), flags...)...)
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		checks, err := c.RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").DoRaw(ctx)
		if err == nil || !strings.Contains(string(checks), "[-]etcd-space failed") {
			return fmt.Errorf("readyz = %s, %w, want that etcd-space failed", checks, err)
		}
		return c.RESTClient().Get().AbsPath("/readyz").Param("exclude", "etcd-space").Do(ctx).Error()
	})
	if _, err := versioned.NewForConfigOrDie(config).KubernikusV1().Klusters("team").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list: %v", err)
	}
}
