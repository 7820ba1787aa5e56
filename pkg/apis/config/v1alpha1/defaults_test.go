// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// defaulted returns what the scheme makes of an empty configuration with one quota.
func defaulted(t *testing.T) *v1alpha1.ControllerManagerConfiguration {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ControllerManagerConfigurationKind))
	if err != nil {
		t.Fatal(err)
	}
	config, ok := object.(*v1alpha1.ControllerManagerConfiguration)
	if !ok {
		t.Fatalf("the kind is a %T", object)
	}
	config.Controllers.Project.Quotas = make([]v1alpha1.QuotaConfiguration, 1)
	scheme.Default(config)
	return config
}

// TestDefaultsLeaveNothingNil checks that no field is nil, because consumers dereference the fields, and a printed null would have
// no meaning.
func TestDefaultsLeaveNothingNil(t *testing.T) {
	config := defaulted(t)
	own := reflect.TypeOf(*config).PkgPath()
	var walk func(path string, value reflect.Value)
	walk = func(path string, value reflect.Value) {
		switch value.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if value.IsNil() {
				t.Errorf("%s has no default", path)
			}
			if value.Kind() == reflect.Slice {
				for i := range value.Len() {
					walk(fmt.Sprintf("%s[%d]", path, i), value.Index(i))
				}
			}
		case reflect.Struct:
			if value.Type().PkgPath() != own {
				return
			}
			for i := range value.NumField() {
				name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
				walk(path+"."+name, value.Field(i))
			}
		}
	}
	walk("", reflect.ValueOf(*config))
}

func TestDefaultsRetainSetFields(t *testing.T) {
	config := defaulted(t)
	config.LeaderElection.LeaderElect = new(false)
	config.ClientConnection.Burst = new(int32(0))
	config.Server.Health.Port = new(int32(0))
	config.Controllers.Enabled = []string{}
	config.Log.Format = v1alpha1.LogFormatText
	config.LeaderElection.RetryPeriod.Duration = 0
	want := config.DeepCopy()
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
}
