INSERT INTO shop.log (line) SELECT repeat('l', 100) FROM generate_series(1, 50);
