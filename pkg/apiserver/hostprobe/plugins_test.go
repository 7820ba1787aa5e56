// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package hostprobe

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	quota "k8s.io/apiserver/pkg/quota/v1/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	basecompatibility "k8s.io/component-base/compatibility"
)

// watched starts the informers that start requests, and returns what they list.
func watched(t *testing.T, start func(*fake.Clientset, informers.SharedInformerFactory)) []string {
	t.Helper()
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	start(client, factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	names := sets.New[string]()
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb == "list" || verb == "watch" {
			names.Insert(describe(action.GetResource()))
		}
	}
	return sets.List(names)
}

func describe(resource schema.GroupVersionResource) string {
	return strings.Join([]string{resource.Group, resource.Version, resource.Resource}, "/")
}

// TestFeaturesMatchTheLibrary runs every admission plugin of the library, and priority and
// fairness. It fails when another version of the library watches something else.
func TestFeaturesMatchTheLibrary(t *testing.T) {
	plugins := admission.NewPlugins()
	genericapiserver.RegisterAllAdmissionPlugins(plugins)
	resourcequota.Register(plugins)
	known := map[string][]string{}
	for _, f := range features() {
		for _, resource := range f.resources {
			known[f.name] = append(known[f.name], describe(resource))
		}
		slices.Sort(known[f.name])
	}
	for _, name := range plugins.Registered() {
		got := watched(t, func(client *fake.Clientset, factory informers.SharedInformerFactory) {
			generic := initializer.New(withOpenAPI{client}, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), factory, authorizerfactory.NewAlwaysAllowAuthorizer(),
				utilfeature.DefaultFeatureGate, basecompatibility.NewEffectiveVersionFromString("1.37", "", ""), t.Context().Done(), meta.NewDefaultRESTMapper(nil))
			if _, err := plugins.InitPlugin(name, nil, admission.PluginInitializers{generic, quotaInitializer{}}); err != nil {
				t.Fatal(err)
			}
		})
		if !slices.Equal(got, known[name]) {
			t.Errorf("%s watches %v, Groundskeeper knows of %v", name, got, known[name])
		}
		delete(known, name)
	}
	got := watched(t, func(client *fake.Clientset, factory informers.SharedInformerFactory) {
		flowcontrol.New(factory, client.FlowcontrolV1(), 1)
	})
	if !slices.Equal(got, known[PriorityAndFairness]) {
		t.Errorf("%s watches %v, Groundskeeper knows of %v", PriorityAndFairness, got, known[PriorityAndFairness])
	}
	delete(known, PriorityAndFairness)
	if len(known) > 0 {
		t.Errorf("the library has no %v", known)
	}
}

// withOpenAPI gives the fake cluster the schemas that the fake lacks.
type withOpenAPI struct{ *fake.Clientset }

func (c withOpenAPI) Discovery() discovery.DiscoveryInterfaces {
	return discoveryWithOpenAPI{c.Clientset.Discovery()}
}

type discoveryWithOpenAPI struct{ discovery.DiscoveryInterfaces }

func (discoveryWithOpenAPI) OpenAPIV3() openapi.Client { return openapitest.NewFakeClient() }

type quotaInitializer struct{}

func (quotaInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(quota.NewConfiguration(nil, nil))
	}
}
