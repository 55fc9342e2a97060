// Goreader reads an Iceberg table with iceberg-go and prints a summary of it: goreader files METADATA-FILE, or
// goreader rest URI TOKEN NAMESPACE TABLE.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/catalog/rest"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// summary describes the rows of a table.
type summary struct {
	Rows    int64             `json:"rows"`
	Columns map[string]column `json:"columns"`
}

// column describes the values of a column. Sum is the sum of numbers, of times in Unit, of trues, or of lengths.
type column struct {
	Values   int64  `json:"values"`
	Distinct int    `json:"distinct"`
	Sum      string `json:"sum"`
	Unit     string `json:"unit"`
}

func main() {
	out, err := read(context.Background(), os.Args[1], os.Args[2:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open finds the table.
func open(ctx context.Context, way string, args []string) (*table.Table, error) {
	if way == "rest" {
		catalog, err := rest.NewCatalog(ctx, "c", args[0], rest.WithOAuthToken(args[1]))
		if err != nil {
			return nil, err
		}
		return catalog.LoadTable(ctx, table.Identifier{args[2], args[3]})
	}
	return table.NewFromLocation(ctx, table.Identifier{"t"}, args[0], icebergio.LoadFSFunc(nil, args[0]), nil)
}

// read reads all rows.
func read(ctx context.Context, way string, args []string) (out summary, err error) {
	found, err := open(ctx, way, args)
	if err != nil {
		return out, err
	}
	schema, batches, err := found.Scan().ToArrowRecords(ctx)
	if err != nil {
		return out, err
	}
	sums := make([]*total, schema.NumFields())
	for i := range sums {
		sums[i] = &total{seen: map[string]bool{}, exact: new(big.Int)}
	}
	for batch, err := range batches {
		if err != nil {
			return out, err
		}
		out.Rows += batch.NumRows()
		for i, c := range batch.Columns() {
			if err := sums[i].add(c); err != nil {
				return out, fmt.Errorf("column %s: %w", schema.Field(i).Name, err)
			}
		}
		batch.Release()
	}
	out.Columns = map[string]column{}
	for i, f := range schema.Fields() {
		c := column{Values: sums[i].values, Distinct: len(sums[i].seen), Sum: sums[i].exact.String()}
		if sums[i].float {
			c.Sum = strconv.FormatFloat(sums[i].approx, 'g', -1, 64)
		}
		if ts, ok := f.Type.(*arrow.TimestampType); ok {
			c.Unit = ts.Unit.String()
		}
		out.Columns[f.Name] = c
	}
	return out, nil
}

// total adds up the values of a column.
type total struct {
	values int64
	seen   map[string]bool
	exact  *big.Int
	approx float64
	float  bool
}

func (s *total) add(c arrow.Array) error {
	if d, ok := c.(*array.Dictionary); ok {
		for i := range d.Len() {
			if d.IsValid(i) {
				if err := s.addOne(d.Dictionary(), d.GetValueIndex(i)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i := range c.Len() {
		if c.IsValid(i) {
			if err := s.addOne(c, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *total) addOne(c arrow.Array, i int) error {
	s.values++
	n := new(big.Int)
	switch c := c.(type) {
	case *array.Boolean:
		if c.Value(i) {
			n.SetInt64(1)
		}
	case *array.Int32:
		n.SetInt64(int64(c.Value(i)))
	case *array.Int64:
		n.SetInt64(c.Value(i))
	case *array.Timestamp:
		n.SetInt64(int64(c.Value(i)))
	case *array.Decimal128:
		n = c.Value(i).BigInt()
	case *array.Float32:
		s.float, s.approx = true, s.approx+float64(c.Value(i))
	case *array.Float64:
		s.float, s.approx = true, s.approx+c.Value(i)
	case *array.String:
		n.SetInt64(int64(utf8.RuneCountInString(c.Value(i))))
	case *array.LargeString:
		n.SetInt64(int64(utf8.RuneCountInString(c.Value(i))))
	case *array.Binary:
		n.SetInt64(int64(len(c.Value(i))))
	case *array.LargeBinary:
		n.SetInt64(int64(len(c.Value(i))))
	default:
		return fmt.Errorf("type %s", c.DataType())
	}
	s.seen[c.ValueStr(i)] = true
	s.exact.Add(s.exact, n)
	return nil
}
