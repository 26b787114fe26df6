// SPDX-License-Identifier: MIT
// A list that is changed while it is looked at.
use std::cell::RefCell;
use std::rc::Rc;

struct Bus {
    listeners: RefCell<Vec<String>>,
}

impl Bus {
    fn subscribe(&self, name: &str) {
        self.listeners.borrow_mut().push(name.to_string()); // HERE
    }

    fn publish(&self, text: &str) {
        for listener in self.listeners.borrow().iter() {
            if text == "grow" {
                self.subscribe("another");
            }
            println!("{} hears {}", listener, text);
        }
    }
}

fn main() {
    let bus = Rc::new(Bus { listeners: RefCell::new(Vec::new()) });
    bus.subscribe("one");
    bus.publish("hello");
    bus.publish("grow");
}
