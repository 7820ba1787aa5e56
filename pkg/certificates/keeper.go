// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates manages the serving certificate of a server without a configured one. A Keeper generates a key pair and the CA
// that signs it, stores them in a Secret that all replicas share, publishes the CA to clients (caBundle of APIServices and webhooks),
// and replaces everything before it expires, without failed requests.
//
// A certificate is replaced in steps, each of which is one write of the Secret. The next pair is *staged*: the bundle contains its CA in
// addition to the current one. When every client has had this bundle for a while, the pair is *promoted*, and all replicas serve it.
// After another while, the old CA is *pruned* from the bundle. The decision (plan.go) is a pure function of the state that a replica has
// observed. There is no leader election: updates use optimistic locking.
//
// A CA signs one certificate, and its key is never stored, so that a stolen Secret cannot be used to sign others. An Issuer is for
// programs that read the CA bundle only at startup, such as etcd: its CA is long-lived.
package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

// fieldManager owns what a Keeper writes.
const fieldManager = "groundskeeper-certificates"

const (
	// resync is how often everything is checked even when nothing happens.
	resync = time.Hour
	// A reconciliation that failed is tried again after a pause that doubles.
	minPause, maxPause = time.Second, 30 * time.Second
)

// Options specify whose certificate is kept, and where.
type Options struct {
	// Name and Namespace are those of the Secret. The name is the common name of the certificate, too.
	Name, Namespace string
	// Hosts are the DNS names and IP addresses of the server.
	Hosts []string
	// Targets are the objects that receive the CA bundle. One that does not exist receives it when it is created.
	Targets []Target
	// Timing specifies when certificates are replaced.
	Timing Timing
}

// ServiceHosts returns the names of a server behind a Service, and those of loopback for clients that forward its port.
func ServiceHosts(name, namespace string) []string {
	return []string{name + "." + namespace + ".svc", name + "." + namespace, name, "localhost", "127.0.0.1", "::1"}
}

// Keeper keeps the certificate of one server. Its methods may be called by several goroutines.
type Keeper struct {
	store
	options  Options
	objects  dynamic.Interface
	metadata metadata.Interface

	served atomic.Pointer[pair]

	mu        sync.Mutex // one reconciliation at a time
	published published
	loadedAt  time.Time

	listeners sync.Mutex
	changed   []func()
}

// published is what every target is known to have, and since when.
type published struct {
	bundle string
	since  time.Time
}

// New returns a keeper that talks to the API server of config.
func New(config *rest.Config, options Options) (*Keeper, error) {
	options.Timing = options.Timing.withDefaults()
	k := &Keeper{options: options, store: store{namespace: options.Namespace}}
	if err := k.connect(config); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", options.Name, err)
	}
	return k, nil
}

func (k *Keeper) connect(config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	if k.secrets, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	if k.objects, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	k.metadata, err = metadata.NewForConfigAndClient(config, client)
	return err
}

// Prepare returns when a certificate is available. It retries after errors until ctx is done.
func (k *Keeper) Prepare(ctx context.Context) error {
	var problem error
	pause := minPause
	for k.served.Load() == nil {
		if _, err := k.pass(ctx); err != nil {
			if problem == nil || ctx.Err() == nil { // an attempt that was cut off has less information than the one before
				problem = err
			}
			if kit.Pause(ctx, pause) != nil {
				return problem
			}
			pause = min(2*pause, maxPause)
		}
	}
	return nil
}

// Run keeps the certificate until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	logger := logr.FromContextOrDiscard(ctx).WithValues("certificate", k.options.Namespace+"/"+k.options.Name)
	repeat(logr.NewContext(ctx, logger), k.pass, k.watch(ctx), "The certificate is not in order, trying again")
}

// repeat calls pass until ctx is done: after the time that it returns, or an event. An error is logged when it is news, and retried after
// a pause that doubles.
func repeat(ctx context.Context, pass func(context.Context) (time.Duration, error), events <-chan struct{}, message string) {
	var reported problem
	pause := minPause
	for ctx.Err() == nil {
		wait, err := pass(ctx)
		switch {
		case err == nil:
			reported, pause = problem{}, minPause
		case ctx.Err() == nil:
			if reported.isNews(err, time.Now()) {
				logr.FromContextOrDiscard(ctx).Error(err, message)
			}
			wait, pause = pause, min(2*pause, maxPause)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-events:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if p := k.served.Load(); p != nil {
		return p.tls, nil
	}
	return nil, errors.New("no certificate yet")
}

// Current returns the certificate and its key, in PEM; nothing before Prepare returned.
func (k *Keeper) Current() (certificate, key []byte) {
	if p := k.served.Load(); p != nil {
		return p.certificate, p.key
	}
	return nil, nil
}

// OnChange calls a function whenever another certificate is to be served. It must not block.
func (k *Keeper) OnChange(call func()) {
	k.listeners.Lock()
	defer k.listeners.Unlock()
	k.changed = append(k.changed, call)
}

func (k *Keeper) serve(p *pair) {
	k.served.Store(p)
	k.loadedAt = time.Now()
	k.listeners.Lock()
	defer k.listeners.Unlock()
	for _, call := range k.changed {
		call()
	}
}

// watch reports every change of the Secret and of the targets. It watches only the metadata of single objects, so that neither keys nor
// other objects are in memory. The watches end some time after ctx is done, because one that waits for an unresponsive server cannot be
// interrupted. Callers do not wait for that.
func (k *Keeper) watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // there is one already
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}
	follow := func(resource schema.GroupVersionResource, namespace, name string) {
		one := func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
		informer := metadatainformer.NewFilteredMetadataInformer(k.metadata, resource, namespace, 0, cache.Indexers{}, one).Informer()
		// It fails only for an informer that has stopped.
		_, _ = informer.AddEventHandler(handler)
		go informer.RunWithContext(ctx)
	}
	follow(corev1.SchemeGroupVersion.WithResource("secrets"), k.options.Namespace, k.options.Name)
	for _, target := range k.options.Targets {
		follow(target.resource, metav1.NamespaceNone, target.name)
	}
	return changed
}
