// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	clientkubernikusv1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/kubernikus/v1"
)

// TestAPIServerStopsGracefully checks that, on SIGTERM, an API server rejects new connections, completes requests in progress, and
// exits with 0. All acknowledged writes are stored.
func TestAPIServerStopsGracefully(t *testing.T) {
	t.Parallel()
	config, flags := thirdReplica(t)
	replica := serve(t, config, flags...)
	c := versioned.NewForConfigOrDie(replica.config).KubernikusV1()
	held, loaded := freshNamespace(t, "stop"), freshNamespace(t, "stop")
	arrived, release := make(chan struct{}), make(chan struct{})
	webhook(t, held, func(*admissionv1.AdmissionRequest) error {
		select {
		case arrived <- struct{}{}:
		case <-t.Context().Done():
		}
		select {
		case <-release:
		case <-t.Context().Done():
		}
		return nil
	})
	load := startLoad(t, c.Klusters(loaded))
	inFlight := make(chan error, 1)
	var stopping atomic.Bool
	go func() {
		// The first tries may come before the server knows of the webhook.
		var err error
		for i := 0; err == nil && !stopping.Load(); i++ {
			_, err = c.Klusters(held).Create(t.Context(), klusterIn(held, fmt.Sprintf("slow%d", i), ""), metav1.CreateOptions{})
		}
		inFlight <- err
	}()
	select {
	case <-arrived:
	case err := <-inFlight:
		t.Fatalf("the request that was to be in flight: %v", err)
	}
	if err := load.isUnderWay(); err != nil {
		t.Fatal(err)
	}
	stopping.Store(true)
	if err := replica.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(replica.config.Host, "https://"))
		if err != nil {
			return nil
		}
		return errors.Join(errors.New("it still takes connections"), connection.Close())
	})
	select {
	case err := <-inFlight:
		t.Errorf("the request in flight ended early: %v", err)
	case err := <-replica.ended:
		t.Fatalf("the server ended before the request: %v", err)
	default:
	}
	close(release)
	if err := <-inFlight; err != nil {
		t.Errorf("the request that was in flight: %v", err)
	}
	if code := replica.exitCode(); code != 0 {
		t.Errorf("exit code %d; it wrote\n%s", code, strings.Join(replica.stderr.lines(), "\n"))
	}
	load.check(t, loaded)
}

// TestManagerStopsGracefully checks that a controller manager exits with 0 on SIGTERM.
func TestManagerStopsGracefully(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + freePort(t)
	standby := start(t, t.Context(), manager, "--kubeconfig="+kubeconfigOf(manager), "--health-address="+address, "--webhook-address=127.0.0.1:0")
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() })
	if err := standby.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := standby.exitCode(); code != 0 {
		t.Errorf("exit code %d; it wrote\n%s", code, strings.Join(standby.stderr.lines(), "\n"))
	}
}

// load is several clients that create Klusters until the server has been deleted.
type load struct {
	wg       sync.WaitGroup
	underWay chan struct{} // closed after the first one
	failed   chan error    // the errors that ended the workers

	mu     sync.Mutex
	stored []string // the acknowledged writes
}

func startLoad(t *testing.T, klusters clientkubernikusv1.KlusterInterface) *load {
	t.Helper()
	const workers = 4
	l := &load{underWay: make(chan struct{}), failed: make(chan error, workers)}
	for worker := range workers {
		l.wg.Go(func() {
			for i := 0; ; i++ {
				kluster, err := klusters.Create(t.Context(), klusterIn("", fmt.Sprintf("k-%d-%d", worker, i), ""), metav1.CreateOptions{})
				if err != nil {
					l.failed <- err
					return
				}
				l.mu.Lock()
				if l.stored = append(l.stored, kluster.Name); len(l.stored) == 100 {
					close(l.underWay)
				}
				l.mu.Unlock()
			}
		})
	}
	return l
}

// isUnderWay waits until there is load.
func (l *load) isUnderWay() error {
	select {
	case <-l.underWay:
		return nil
	case err := <-l.failed:
		return fmt.Errorf("a request under load: %w", err)
	}
}

// check waits for the end of the load. No request was cut off: those that came too late were reported so, or found no server.
func (l *load) check(t *testing.T, namespace string) {
	t.Helper()
	l.wg.Wait()
	close(l.failed)
	for err := range l.failed {
		if !errors.Is(err, syscall.ECONNREFUSED) && !apierrors.IsServiceUnavailable(err) {
			t.Errorf("a request under load: %v", err)
		}
	}
	list := &kubernikusv1.KlusterList{}
	if err := admin(t).List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	exist := map[string]bool{}
	for i := range list.Items {
		exist[list.Items[i].Name] = true
	}
	for _, name := range l.stored {
		if !exist[name] {
			t.Errorf("Kluster %s was acknowledged and does not exist", name)
		}
	}
	t.Logf("%d Klusters were created until the server stopped", len(l.stored))
}
