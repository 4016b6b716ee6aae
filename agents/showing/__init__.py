"""What a person looks at: films of episodes, and an animal to steer."""
