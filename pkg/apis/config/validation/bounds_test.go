// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/apis/config/validation"
)

// durations calls visit with the path of every duration of a configuration.
func durations(value reflect.Value, path string, visit func(path string, period *metav1.Duration)) {
	if period, ok := value.Interface().(*metav1.Duration); ok {
		visit(path, period)
		return
	}
	if value.Kind() != reflect.Struct {
		return
	}
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		at := strings.Trim(path+"."+name, ".")
		durations(value.Field(i), at, visit)
	}
}

// Each duration that is too long is rejected under its own name, with the largest value.
func TestEveryDurationIsBounded(t *testing.T) {
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	found := 0
	durations(reflect.ValueOf(config).Elem(), "", func(path string, period *metav1.Duration) {
		found++
		before := period.Duration
		period.Duration = validation.MaxDuration + 1
		var got []string
		for _, err := range validation.ValidateControllerManagerConfiguration(config, nil) {
			got = append(got, err.Error())
		}
		if want := path + `: Invalid value: "400000h0m0.000000001s": must be at most 400000h`; !strings.Contains(strings.Join(got, "; "), want) {
			t.Errorf("errors = %q, want %q among them", got, want)
		}
		period.Duration = before
	})
	if found < 10 {
		t.Errorf("found %d durations in the configuration, want at least 10", found)
	}
}
