module tempo.example/client

go 1.19
