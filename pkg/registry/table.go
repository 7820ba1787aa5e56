// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Column is one column that kubectl prints.
type Column[T Object] struct {
	// Name is the heading.
	Name string
	// Type is the OpenAPI type of the cells: string, integer or boolean.
	Type string
	// Description is what `kubectl explain` style tools show for the column.
	Description string
	// Wide columns are printed by `-o wide` only.
	Wide bool
	// Cell returns the value for an object.
	Cell func(T) any
}

// table prints objects with columns between name and age.
type table[T Object] []Column[T]

// ConvertToTable returns the rows of an object or of a list.
func (c table[T]) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{Rows: []metav1.TableRow{}} // no rows are [], not null
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		t.ColumnDefinitions = c.definitions()
	}
	row := func(obj runtime.Object) error {
		o, ok := obj.(T)
		if !ok {
			return fmt.Errorf("cannot print a %T in the columns of a %T", obj, o)
		}
		t.Rows = append(t.Rows, c.row(o))
		return nil
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		t.ResourceVersion, t.Continue, t.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
		return t, meta.EachListItem(obj, row)
	}
	if m, err := meta.CommonAccessor(obj); err == nil {
		t.ResourceVersion = m.GetResourceVersion()
	}
	return t, row(obj)
}

func (c table[T]) definitions() []metav1.TableColumnDefinition {
	docs := metav1.ObjectMeta{}.SwaggerDoc()
	definitions := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: docs["name"]}}
	for _, column := range c {
		definition := metav1.TableColumnDefinition{Name: column.Name, Type: column.Type, Description: column.Description}
		if column.Wide {
			definition.Priority = 1
		}
		definitions = append(definitions, definition)
	}
	return append(definitions, metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: docs["creationTimestamp"]})
}

func (c table[T]) row(o T) metav1.TableRow {
	cells := []any{o.GetName()}
	for _, column := range c {
		cells = append(cells, column.Cell(o))
	}
	return metav1.TableRow{Cells: append(cells, Age(o.GetCreationTimestamp())), Object: runtime.RawExtension{Object: o}}
}

// Condition returns the status of a condition, "" before a controller has written it.
func Condition(conditions []metav1.Condition, name string) any {
	if condition := meta.FindStatusCondition(conditions, name); condition != nil {
		return string(condition.Status)
	}
	return ""
}

// Age is how long ago something happened, as kubectl prints it, or <unknown>.
func Age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}
