// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Operation is one step of a transaction.
type Operation map[string]any

// Condition selects rows: a column, a function such as == or includes, and a value.
type Condition [3]any

// ByID selects the row with an id.
func ByID(id string) Condition { return Condition{"_uuid", "==", UUID(id)} }

// Select reads rows that match all conditions. Without columns it reads all of them.
func Select(table string, where []Condition, columns ...string) Operation {
	o := Operation{"op": "select", "table": table, "where": conditions(where)}
	if len(columns) > 0 {
		o["columns"] = columns
	}
	return o
}

// Insert creates a row with a chosen id, which servers can do since Open vSwitch 3.1.
func Insert(table, id string, row map[string]any) Operation {
	return Operation{"op": "insert", "table": table, "uuid": id, "row": row}
}

// Update sets columns of the rows that match.
func Update(table string, where []Condition, row map[string]any) Operation {
	return Operation{"op": "update", "table": table, "where": conditions(where), "row": row}
}

// Delete deletes the rows that match.
func Delete(table string, where ...Condition) Operation {
	return Operation{"op": "delete", "table": table, "where": conditions(where)}
}

// Mutation changes a part of a column.
type Mutation [3]any

// Including adds values to a set, or pairs to a map whose keys it does not have.
func Including(column string, values any) Mutation { return Mutation{column, "insert", values} }

// Excluding removes values from a set, or keys from a map.
func Excluding(column string, values any) Mutation { return Mutation{column, "delete", values} }

// Mutate changes parts of columns of the rows that match.
func Mutate(table string, where []Condition, mutations ...Mutation) Operation {
	return Operation{"op": "mutate", "table": table, "where": conditions(where), "mutations": mutations}
}

// Require fails the transaction unless a row matches all conditions.
func Require(table string, where ...Condition) Operation {
	return Operation{
		"op": "wait", "timeout": 0, "table": table, "where": conditions(where), "columns": []string{"_uuid"}, "until": "!=", "rows": []any{},
	}
}

// conditions is never null, which a server would not accept.
func conditions(where []Condition) []Condition {
	if where == nil {
		return []Condition{}
	}
	return where
}

// Result is the result of an operation.
type Result struct {
	// Count is the number of rows that an update, a mutation or a deletion matched.
	Count int `json:"count"`
	// Rows are those that were selected.
	Rows []Row `json:"rows"`
}

// Codes of errors.
const (
	// CodeConstraint: a value that the schema does not allow, or one that must be unique and is not.
	CodeConstraint = "constraint violation"
	// CodeDuplicate: a row with that id exists.
	CodeDuplicate = "duplicate uuid"
	// CodeReference: a reference to a row that does not exist.
	CodeReference = "referential integrity violation"
	// CodeTimedOut: a Require that does not match.
	CodeTimedOut = "timed out"
)

// Error is a server's response that rejects a transaction, of which nothing was carried out.
type Error struct {
	// Operation is the index of the one that failed. It is the number of operations if they failed together.
	Operation int
	// Code and Details are in the server's words.
	Code, Details string
}

// Error returns the message.
func (e *Error) Error() string {
	if e.Details == "" {
		return e.Code
	}
	return e.Code + ": " + strings.TrimSuffix(e.Details, ".")
}

// CodeOf returns the code of a response that rejects a transaction, and empty for any other error.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// resultsOf reads the response to a transaction.
func resultsOf(data json.RawMessage, operations int) ([]Result, error) {
	var entries []*struct {
		Result
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("the response to a transaction is not understood: %w", err)
	}
	results := make([]Result, operations)
	for i, entry := range entries {
		switch {
		case entry == nil:
		case entry.Error != "":
			return nil, &Error{Operation: i, Code: entry.Error, Details: entry.Details}
		case i < operations:
			results[i] = entry.Result
		}
	}
	if len(entries) < operations {
		return nil, fmt.Errorf("the response to a transaction has %d results for %d operations", len(entries), operations)
	}
	return results, nil
}
