package content_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"fourfold/content"
)

func Example() {
	answer := content.New("the patient's name is …")

	fmt.Printf("%v %q %#v %x\n", answer, answer, answer, answer)
	_, err := json.Marshal(map[string]any{"answer": answer})
	fmt.Println(errors.Is(err, content.ErrEncoded))
	fmt.Println(len(answer.Reveal()))
	// Output:
	// [content] [content] [content] [content]
	// true
	// 25
}

func ExampleOf_Equal() {
	fmt.Println(content.New("a").Equal(content.New("a")), content.New("a").Equal(content.New("b")))
	// Output: true false
}
