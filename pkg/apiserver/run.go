// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/legacyregistry"

	"groundskeeper.io/groundskeeper/pkg/apiserver/embeddedetcd"
	"groundskeeper.io/groundskeeper/pkg/apiserver/etcdspace"
	"groundskeeper.io/groundskeeper/pkg/apiserver/hostprobe"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/pkg/apiserver/storeidentity"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/registry/etcd"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// Run serves until the context ends, then drains and stops. The options are complete and valid.
//
// The order matters: what could reject the start comes before the port is opened, because the aggregator and the garbage collector
// of the management cluster believe a server as soon as it responds.
func Run(ctx context.Context, o *Options) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	status := &diagnosis{started: time.Now(), now: time.Now, options: o}

	// etcd outlives the server that drains.
	if o.embedsEtcd() {
		database, err := embeddedetcd.Start(ctx, embeddedetcd.Config{Dir: o.EmbeddedEtcdDir, UnsafeNoFsync: o.EmbeddedEtcdUnsafeNoFsync})
		if err != nil {
			return err
		}
		defer database.Stop()
		o.Etcd.StorageConfig.Transport.ServerList = []string{database.Endpoint()}
		go func() {
			if err, ok := <-database.Failed(); ok {
				end(err)
			}
		}()
	}

	written := func(int64) {}
	if !o.Standalone {
		host, disabled, err := o.probeHost(ctx)
		if err != nil {
			return err
		}
		recorder, closeStore, err := o.verifyStore(ctx, host)
		if err != nil {
			return err
		}
		defer closeStore()
		written = recorder.Written
		status.disabled, status.recorder, status.host = disabled, recorder, host
		// The last write is recorded when the server has drained.
		defer whileDraining(ctx, func(ctx context.Context) {
			if err := recorder.Run(ctx); err != nil {
				end(err)
			}
		})()
		stopPublishing, err := o.publish(ctx, host)
		if err != nil {
			return err
		}
		defer stopPublishing()
	}
	if o.SelfManagedCertificates {
		stop, err := o.keepCertificate(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}

	server, err := o.newServer(ctx, written)
	if err != nil {
		return err
	}
	status.serve(server)
	if err := server.PrepareRun().RunWithContext(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// whileDraining runs what the server needs until it has drained: until the returned function is called, which waits for its end.
func whileDraining(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { run(ctx) })
	return func() { cancel(); group.Wait() }
}

// newServer builds the server and opens its port.
func (o *Options) newServer(ctx context.Context, written func(revision int64)) (*genericapiserver.GenericAPIServer, error) {
	a, err := newAPI()
	if err != nil {
		return nil, err
	}
	if a.versions, err = o.served(); err != nil {
		return nil, err
	}
	if o.ProjectAuthorization == AuthorizeByMembership {
		a.membership = membership.NewServer(o.Etcd.EnableWatchCache)
	}
	config, err := o.config(ctx, a, written)
	if err != nil {
		return nil, err
	}
	server, err := config.Complete().New(componentName, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	if a.membership != nil {
		server.Handler.NonGoRestfulMux.Handle(membership.ReviewPath, a.membership)
	}
	// Not ready before every kind can be read: the library does not do this.
	if err := server.AddPostStartHook("storage-readiness", server.StorageReadinessHook.Hook); err != nil {
		return nil, err
	}
	space, err := etcdspace.New(legacyregistry.Registerer())
	if err != nil {
		return nil, err
	}
	if err := server.AddReadyzChecks(space.ReadyCheck()); err != nil {
		return nil, err
	}
	if err := server.AddPostStartHook(etcdspace.Name, func(hook genericapiserver.PostStartHookContext) error {
		go space.Run(hook, o.Etcd.StorageConfig.Transport)
		return nil
	}); err != nil {
		return nil, err
	}
	groups, err := a.groups(config.RESTOptionsGetter)
	if err != nil {
		return nil, err
	}
	if err := server.AddPostStartHook("summaries", func(hook genericapiserver.PostStartHookContext) error {
		go resummarize(hook, groups) // the server is ready without it
		return nil
	}); err != nil {
		return nil, err
	}
	return server, server.InstallAPIGroups(groups...)
}

// probeHost disables what the management cluster does not serve, and returns a client of it, and what is off.
func (o *Options) probeHost(ctx context.Context) (kubernetes.Interface, []hostprobe.Disabled, error) {
	config, err := HostConfig(o.CoreAPI.CoreAPIKubeconfigPath)
	if err != nil {
		return nil, nil, err
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	disabled, err := hostprobe.Probe(ctx, host, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, feature := range disabled {
		if feature.Name == hostprobe.PriorityAndFairness {
			o.Features.EnablePriorityAndFairness = false
			continue
		}
		o.Admission.DisablePlugins = append(o.Admission.DisablePlugins, feature.Name)
		o.Admission.EnablePlugins = slices.DeleteFunc(o.Admission.EnablePlugins, func(name string) bool { return name == feature.Name })
	}
	return host, disabled, nil
}

// HostConfig returns how the kube-apiserver is reached, by a kubeconfig or, when the path is empty, as a pod.
func HostConfig(path string) (*rest.Config, error) {
	config, err := process.RESTConfig(path, "--kubeconfig")
	if err != nil {
		return nil, err
	}
	config.UserAgent = version.UserAgent(componentName)
	config.QPS = -1 // another limit would only hide the fault
	return config, nil
}

// verifyStore rejects a store that is not the one that the cluster knows. The caller closes it.
func (o *Options) verifyStore(ctx context.Context, host kubernetes.Interface) (*storeidentity.Recorder, func(), error) {
	served, err := o.served()
	if err != nil {
		return nil, nil, err
	}
	client, err := etcd.NewClient(ctx, o.Etcd.StorageConfig.Transport)
	if err != nil {
		return nil, nil, err
	}
	closeClient := func() { _ = client.Close() }
	config := storeidentity.Config{
		KV: client.KV, Prefix: o.Etcd.StorageConfig.Prefix, Projects: projectKeys(served),
		Host: host, Accept: o.AcceptStore,
	}
	verified, err := storeidentity.Verify(ctx, config)
	if err != nil {
		closeClient()
		return nil, nil, err
	}
	recorder := storeidentity.NewRecorder(config, verified)
	if recorder.Metrics, err = storeidentity.NewMetrics(legacyregistry.Registerer()); err != nil {
		closeClient()
		return nil, nil, err
	}
	return recorder, closeClient, nil
}
