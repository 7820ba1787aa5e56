// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// MaxDays is the largest number of days that a time.Duration can hold. A larger one would wrap around and may be
	// negative, so that a period of millions of days would be over immediately.
	MaxDays = int32(math.MaxInt64 / (24 * time.Hour))
	// MaxDuration is the longest duration of a configuration. Durations are stretched by jitter, multiplied by up to six,
	// and written to Leases as 32 bits of seconds; the longest one fits into all of these.
	MaxDuration = 400000 * time.Hour
	// MaxWorkers is the largest number of workers of one controller. Each is a goroutine from startup on.
	MaxWorkers int32 = 10000
)

// validateDays checks a number of days, which is multiplied into a time.Duration.
func validateDays(days int32, path *field.Path) field.ErrorList {
	return between(days, 0, "must be greater than or equal to 0", MaxDays, path)
}

// validateWorkers checks how many objects a controller reconciles at the same time.
func validateWorkers(workers int32, path *field.Path) field.ErrorList {
	return between(workers, 1, "must be greater than 0", MaxWorkers, path)
}

// between checks the bounds of a number. tooLow is the message for one below them.
func between(number, lowest int32, tooLow string, highest int32, path *field.Path) field.ErrorList {
	switch {
	case number < lowest:
		return field.ErrorList{field.Invalid(path, number, tooLow)}
	case number > highest:
		return field.ErrorList{field.Invalid(path, number, fmt.Sprintf("must be at most %d", highest))}
	}
	return nil
}

// atLeast checks the lower bound of a duration.
func atLeast(minimum time.Duration, period *metav1.Duration, path *field.Path) field.ErrorList {
	switch {
	case period.Duration >= minimum:
		return nil
	case minimum == 0:
		return field.ErrorList{field.Invalid(path, period.Duration.String(), "must be greater than or equal to 0s")}
	}
	return field.ErrorList{field.Invalid(path, period.Duration.String(), "must be at least "+minimum.String())}
}

// positive checks a number.
func positive[T int32 | float32](number T, path *field.Path) field.ErrorList {
	if number > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, number, "must be greater than 0")}
}

// oneOf checks a value that is an entry of a list.
func oneOf[T ~string](value T, path *field.Path, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

// each checks the entries of a list, none of which may be there twice.
func each[T comparable](list []T, path *field.Path, check func(T, *field.Path) field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	for i, entry := range list {
		errs = append(errs, check(entry, path.Index(i))...)
		if slices.Contains(list[:i], entry) {
			errs = append(errs, field.Duplicate(path.Index(i), entry))
		}
	}
	return errs
}

// by is a check by a function that returns what is wrong.
func by(check func(string) []string) func(string, *field.Path) field.ErrorList {
	return func(value string, path *field.Path) (errs field.ErrorList) {
		for _, message := range check(value) {
			errs = append(errs, field.Invalid(path, value, message))
		}
		return errs
	}
}

// among is a check that an entry is supported.
func among[T ~string](supported ...T) func(T, *field.Path) field.ErrorList {
	return func(value T, path *field.Path) field.ErrorList { return oneOf(value, path, supported...) }
}

// validateDurations checks the upper bound of every duration in a value, wherever it stands, so that no new field can
// be left out. Lower bounds differ and are checked with their fields.
func validateDurations(value reflect.Value, path *field.Path) field.ErrorList {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return nil
	}
	if period, ok := value.Interface().(metav1.Duration); ok {
		if period.Duration <= MaxDuration {
			return nil
		}
		return field.ErrorList{field.Invalid(path, period.Duration.String(), "must be at most "+inHours(MaxDuration))}
	}
	var errs field.ErrorList
	for i := range value.NumField() {
		at := path
		if name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ","); name != "" {
			at = path.Child(name)
			if path == nil {
				at = field.NewPath(name)
			}
		}
		errs = append(errs, validateDurations(value.Field(i), at)...)
	}
	return errs
}

func inHours(d time.Duration) string { return fmt.Sprintf("%dh", d/time.Hour) }
